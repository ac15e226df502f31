// Package workqueue hands units of work out to whoever asks for one, and keeps one outcome of each.
//
// A unit is named by its content: its kind, the program and the server that it is for, and its body. Two units of one
// name have an equal result, so a unit may be done twice, and it counts once.
//
// A worker has a unit for the time of a lease, which it renews while it works. If it says nothing for so long, the unit
// is handed to another, and the first one may still come back with its result: a lease can be lost, as every lease can.
// So the first result is kept, and a second has to make the same claim. If it does not, the unit is disputed, and
// whoever asked for it cannot rely on its result.
//
// A unit that was handed out Tries times and came to no result is given up. That is an outcome, too: no unit is
// dropped. Whoever has failed a unit leaves it to the other workers that are there, and a worker that fails where
// others do not is given no more work: see Worker.
//
// Memory is a queue inside one process. Package jetstream has one for many machines.
package workqueue
