// Package coordinate spreads work over the workers of a workqueue.Queue, and puts together what comes back.
//
// There are three kinds of units: a repetition of one run of a suite, a piece of a search, and a share of one run's
// clients. What comes back from a worker is data: it is read and checked, and never run. A worker does units of its own
// program's version only, and no command line that comes with a unit, unless its user allows that.
package coordinate
