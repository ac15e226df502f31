// Package coordinate distributes work to the workers of a workqueue.Queue, and combines the results.
//
// There are three kinds of units: a repetition of one run of a suite, a piece of a search, and a share of one run's
// clients. Results from a worker are data: the coordinator reads and checks them, and never runs them. A worker does
// only units of its own program's version. It runs a command line that comes with a unit only if the worker's user
// allows that.
package coordinate
