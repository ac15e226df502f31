// Package jetstream has a workqueue.Queue for many machines, on NATS JetStream: a server of NATS in this process
// (Serve), or a cluster that is there already.
//
// A coordination has a name, and one coordinator at a time (Lead). Workers join it by its name (Join). It keeps three
// things in NATS, all of them replicated three times on a cluster: a stream of the units to be handed out, each on a
// subject of its own, which JetStream redelivers until they are acknowledged; a bucket of keys with the outcome and the
// tries of each unit; and an object store with the bodies of units and results.
//
// That a unit has one outcome rests on one thing only: its key is created, never overwritten. Messages may come twice,
// acknowledgements may get lost, and a worker may come back after its lease. Whoever takes a unit looks first whether
// it has an outcome.
package jetstream
