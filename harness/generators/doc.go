// Package generators spreads the clients of one run over several processes, on one machine or on many: one deployment,
// one nemesis, one history.
//
// A [Team] is the coordinator's side, and its members are a run's [harness.Generator]s. [Serve] is the side of a
// generator. They talk through a [Post]. The coordinator asks and a generator answers, but for what the clients record:
// that the generator sends, numbered, and sends again until it is acknowledged.
//
// Every generator stamps operations with a clock of its own. The coordinator asks for the time all the while, and so
// knows between which two readings of its own clock each reading of a generator's lies ([Bounds]). It widens each
// operation by that: Call becomes the earliest time at which it can have been called, and Return the latest at which it
// can have returned. A wider interval excuses more, so a violation that is found is one. A clock that is seen to run
// otherwise than allowed ends the run, and what was found counts for nothing.
package generators
