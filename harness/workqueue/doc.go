// Package workqueue hands units of work out to workers and keeps one outcome of each unit.
//
// A unit is named by its content: its kind, its program and server, and its body. Two units with the same name have
// equal results, so a unit may be done twice and counts once.
//
// A worker holds a unit for the time of a lease, which it renews while it works. If the worker says nothing for that
// long, the unit goes to another worker. The silent worker may be alive, and still return a result. The first result is
// kept. A second result has to make the same claim. If it does not, the unit is disputed, and its result cannot be
// relied on.
//
// A unit that was handed out three times (the constant Tries) without a result is given up. That is an outcome as well:
// no unit is dropped. A worker that has failed a unit leaves it to other workers, and a worker that fails where others
// succeed gets no more work: see Worker.
//
// Memory is a queue inside one process. Package jetstream has a queue for many machines.
package workqueue
