// Package workloads holds the algorithms under test and the clients that race on them.
//
// There are three families, each with an interface of one or two methods that your own algorithm implements in about
// twenty lines: [Locker], [Deduper] and [Sequencer]. [Locks], [Dedups] and [Sequences] turn one into a
// harness.Workload. Variants whose ids begin with writes/ measure lost writes beside any of them. [Catalogue] lists the
// variants that come with the project. Each has a file of its own whose doc comment is its specification.
package workloads
