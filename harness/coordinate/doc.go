// Package coordinate spreads suites and searches over the workers of a workqueue.Queue, and puts together what comes back.
//
// There are two kinds of units: a repetition of one run of a suite, and a piece of a search. What comes back from a worker is data: it is
// read and checked, and never run. A worker does units of its own program's version only, and no command line that comes with a unit,
// unless its user allows that.
package coordinate
