// Package jetstream implements workqueue.Queue for many machines on NATS JetStream: on a NATS server in this process
// (Serve), or on an existing cluster.
//
// A coordination has a name, and one coordinator at a time (Lead). Workers join by name (Join). A coordination keeps
// three things in NATS, each replicated three times on a cluster: a stream with the units to be handed out, each with
// its own subject, which JetStream redelivers until they are acknowledged; a key bucket with each unit's outcome and
// tries; and an object store with the bodies of units and results.
//
// A unit has one outcome because the outcome's key is created and never overwritten. Messages may come twice,
// acknowledgements may get lost, and a worker may return after its lease. A worker that takes a unit first checks
// whether it has an outcome.
package jetstream
