// Package generators spreads the clients of one run over several processes, on one machine or on many: one deployment,
// one nemesis, one history.
//
// A [Team] is the coordinator's side. Its members are a run's [harness.Generator]s. [Generator.Serve] is the side of a
// generator. They communicate through a [Post]. The coordinator asks and a generator answers, except for the clients'
// records: the generator sends these, numbered, and repeats each until it is acknowledged.
//
// Every generator takes the times of operations from its own clock. The coordinator asks for that time continuously, so
// that it can bound every reading by two readings of its own clock ([Bounds]). It widens each operation accordingly:
// Call becomes the earliest possible time of the call, and Return the latest possible time of the return. A violation
// that is found in widened operations is real, since a wider interval allows more answers. If a clock drifts more than
// allowed, the run ends and its violations do not count.
package generators
