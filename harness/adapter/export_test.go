package adapter

// Pointers to the times that a process has to start, and to answer during a check.
var StartWithin, AnswerWithin = &startWithin, &answerWithin
