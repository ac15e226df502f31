package adapter

// How long a process has to begin, and for each operation of a check.
var StartWithin, AnswerWithin = &startWithin, &answerWithin
