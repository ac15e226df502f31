// Package harness is the vocabulary and the runner of doublegrant.
//
// A lock granted to two owners, a message claimed by two workers, a number issued to two callers: each is a double
// grant. A [Run] races clients on a real system, breaks it, records every operation and judges the record:
//
//	plan (Spec) -> System -> Clients -> History -> Checkers -> Result
//
// Data flows in that direction only. This package imports the standard library alone; what talks to Redis, breaks
// links or judges histories implements its small interfaces: [System], [Workload], [Client], [Nemesis], [Checker],
// [Store].
//
// A `go test` holds a lock to its promise with [Test]; the command line does the same through harness/plan and
// harness/results.
package harness
