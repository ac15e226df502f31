// Package explore runs real clients against a real Redis, one command at a time, through every interleaving up to a
// bound. The ordinary checkers judge each interleaving. A violation comes with its proof: the smallest schedule that
// shows it, which Replay runs again. If the search finds none, no order of commands within the bound breaks the
// algorithm.
//
// # How
//
// Each client of an [interleave.Program] runs in its own goroutine, on a connection from the explorer (conn.go). A
// client that waits for a reply is parked. The scheduler (step.go) picks a client, sends its one command to Redis,
// gives it the reply and waits until it is parked again. A schedule is the list of these choices. Between commands
// something may go wrong: a client crashes, time passes (passing.go), an answer or a command is lost, a command arrives
// late (delivery.go), a replica that lags is promoted, or the script cache is flushed (step.go).
//
// A strategy makes the choices (internal/strategy), and run.go carries them out. A search runs all schedules by
// replaying prefixes, those with the fewest preemptions and faults first (iterative context bounding: Musuvathi and
// Qadeer, PLDI 2007). It leaves out schedules that differ from a planned one only in the order of independent commands
// (sleep sets: Godefroid, LNCS 1032, 1996).
//
// Where there are too many schedules, Spec.Random draws some at random (random.go), with a bound on the probability of
// finding a bug. Counterexamples found that way are shrunk (shrink.go).
//
// Time is virtual for clients and servers (internal/server). Every step takes a microsecond. Otherwise time passes only
// where the schedule says so: to the last millisecond of a lease or just beyond it. If the servers' clocks cannot be
// set, TTLs are shortened instead, a schedule that took too long is run again, and an algorithm that reads a clock is
// not judged.
//
// # Threads and waiting
//
// A goroutine of [harness.Go] is an actor of its client, and so is a subscription (thread.go, subscribe.go). An adapter
// asks before it reads a message (adapter_subscribe.go). An actor may wait for Redis, for time, or for another actor of
// its client (wait.go). Redis blocks a BLPOP as usual, and after each step the explorer checks whether it was answered.
// Time-outs pass in virtual time. One wait in a schedule may time out while others could still run; further waits time
// out only when nothing else can run. A client that cannot be woken is a deadlock (deadlock.go). Goroutines that
// outlive their clients act once more while time passes at the end.
//
// # What it does not say
//
// A search that found nothing says so only of the schedules that it ran ([interleave.Result.Parts]). The verdict is
// unknown where they show nothing (vacuous.go), such as when a client works in the background (background.go) or
// nothing was ever granted.
package explore
