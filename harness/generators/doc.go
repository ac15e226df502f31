// Package generators spreads the clients of one run over several processes, on one machine or on many: one deployment,
// one nemesis, one history.
//
// A [Team] is the coordinator's side. Its members are a run's [harness.Generator]s. [Generator.Serve] is the
// generator's side. Both sides communicate through a [Post]. The coordinator asks and a generator answers. Only the
// clients' records go the other way: the generator numbers them, and repeats each record until the coordinator
// acknowledges it.
//
// Every generator takes the times of operations from its own clock. The coordinator reads that clock again and again.
// So it can bound each time of a generator by two times on its own clock ([Bounds]). It widens each operation
// accordingly: Call becomes the earliest possible time of the call, and Return the latest possible time of the return.
// A violation that is found in widened operations is real, since a wider interval allows more answers. If a clock
// drifts more than allowed, the run ends and its violations do not count.
package generators
