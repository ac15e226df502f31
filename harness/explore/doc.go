// Package explore runs real clients against a real Redis, one command at a time, through every interleaving up to a
// bound, and has the ordinary checkers judge each. What it finds is a proof: the smallest schedule that breaks an
// algorithm, which Replay runs again; what it does not find, no order of commands within the bound can do.
//
// # How
//
// Each client of a [Program] runs in a goroutine of its own, on a connection that the explorer hands to its Redis client
// (conn.go). The connection answers nothing by itself: a client that waits for a reply is parked, and the scheduler
// (execution.go) picks one client, sends its one command to Redis, hands it the reply and waits until it is parked
// again. A schedule is the list of these choices. Between commands the world may interfere (world.go): a client crashes,
// all leases end, a replica that has not heard everything is promoted, the script cache is flushed.
//
// The search (search.go) goes through all schedules by replaying prefixes, those with the fewest preemptions and
// interferences first (iterative context bounding: Musuvathi and Qadeer, PLDI 2007), and leaves out those that differ
// from one already planned only in the order of independent commands (sleep sets: Godefroid, LNCS 1032, 1996).
//
// Time is virtual: every step takes a millisecond, and leases end when the world says so. Redis's own clock does not get
// that far in the fraction of a millisecond that a schedule takes; one that took too long is run again.
package explore
