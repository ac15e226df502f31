// Package workloads holds the algorithms under test and the clients that race on them.
//
// There are three families, each with an interface of one or two methods that your own algorithm implements in about
// twenty lines: [Locker], [Deduper] and [Sequencer]. [Locks], [QuorumLocks], [Dedups] and [Sequences] turn one into a
// harness.Workload. [SAdd] and [SAddWait] measure lost writes beside any of them, and [Rounds] repeats published
// experiments. [Catalogue] lists the variants that come with the project. Each has a file of its own whose doc comment
// is its specification.
package workloads
