package adapter

// Pointers to two time limits of a process: for its start, and for an answer during a check.
var StartWithin, AnswerWithin = &startWithin, &answerWithin
