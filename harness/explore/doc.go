// Package explore runs real clients against a real Redis, one command at a time, through every interleaving up to a
// bound, and has the ordinary checkers judge each. What it finds is a proof: the smallest schedule that breaks an
// algorithm, which Replay runs again. If it finds nothing, no order of commands within the bound breaks the algorithm.
//
// # How
//
// Each client of an [interleave.Program] runs in a goroutine of its own, on a connection that the explorer hands to its
// Redis client (conn.go). The connection answers nothing by itself: a client that waits for a reply is parked, and the
// scheduler (step.go) sends the one command of one client to Redis, hands it the reply and waits until it is parked
// again. A schedule is the list of these choices. Between commands the world may interfere: a client crashes, time
// passes (passing.go), an answer or a command is lost, a command comes late (delivery.go), a replica that has not heard
// everything is promoted, the script cache is flushed (step.go).
//
// A strategy chooses (internal/strategy; run.go does what it says). A search goes through all schedules by replaying
// prefixes, those with the fewest preemptions and interferences first (iterative context bounding: Musuvathi and
// Qadeer, PLDI 2007), and leaves out those that differ from one already planned only in the order of independent
// commands (sleep sets: Godefroid, LNCS 1032, 1996).
//
// Where there are too many schedules, Spec.Random draws some at random (random.go), with a bound on the probability of
// finding a bug, and shrinks what it finds (shrink.go).
//
// Time is virtual, for clients and servers alike (internal/server): every step takes a microsecond, and otherwise time
// passes only where the schedule says so, to the last millisecond of some lease or just beyond it. Where the servers'
// clocks cannot be set, TTLs are shortened instead, a schedule that took too long is run again, and an algorithm that
// reads a clock is not judged.
//
// # Threads and waiting
//
// A goroutine of [harness.Go] is an actor of its client, and so is a subscription (thread.go, subscribe.go). A program
// outside asks before it reads a message (hearing.go). An actor may wait for Redis, for time or for another actor of
// its client (wait.go): Redis keeps a BLPOP blocked, and after each step the explorer looks whether it was answered.
// Time-outs pass in virtual time. Where others could go on meanwhile, one wait of a schedule ends with time; the others
// end so only when nobody else can move. A client that nobody can wake any more is a deadlock (deadlock.go). Goroutines
// that are left when every client is done act once more while time passes at the end.
//
// # What it does not say
//
// A search that found nothing says so only of the schedules that it contained ([interleave.Result.Parts]). The verdict
// is unknown where they show nothing (vacuous.go), such as when a client acts by itself (ownwork.go) or nothing was
// ever granted.
package explore
