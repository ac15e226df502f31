// Package coordinate distributes work to the workers of a workqueue.Queue, and combines the results.
//
// There are three kinds of units: a repetition of one run of a suite, a piece of a search, and a share of one run's
// clients. Results from a worker are data: they are read and checked, and never run. A worker does only units of its
// own program's version. It runs no command line that comes with a unit, unless its user allows that.
package coordinate
