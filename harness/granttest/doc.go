// Package granttest tests an algorithm of your own: a Redis lock, a message filter or a number generator. It is the one
// import of this project that such a test needs:
//
//	func TestMyLock(t *testing.T) { granttest.Lock(t, newMyLock) }
//
// The test first runs every interleaving of three clients, with one crash and one lease that ends, on a real Redis, one
// command at a time (package explore). Then it puts the algorithm under load for some seconds on a real Redis (package
// harness), unless the test runs with -short. It passes if neither found a violation and both were able to find one.
//
// # When it fails
//
// The failure shows each step of the shortest schedule that breaks the algorithm, and the command that repeats it. The
// schedule is saved in testdata/granttest/<name of the test>, beside the test, as Go's fuzzing keeps its corpus. Commit
// it: later runs of the test run it first, so a race that was found once stays a regression test.
//
// A failure that begins "unknown" says that the test has shown nothing, and what to change. It does not say that the
// algorithm is wrong.
//
// # What the algorithm must do
//
// One value serves one client, from one goroutine; [Shared] lets the goroutines of a process share one. A method with
// the name of an optional one, such as Extend, needs that method's signature, or the test fails. The algorithm sends
// its commands through the client that its constructor was given. In the search time is virtual: the algorithm reads
// no clock but harness.Now(ctx), waits by nothing but harness.Sleep(ctx, d), and starts goroutines that outlive a
// call, such as a watchdog, by harness.Go(ctx, f). The search recognises a goroutine or timer that was started
// otherwise and says where. Such an algorithm can be tested with Search{Skip: true} and a longer load.
//
// # Flags
//
//	-granttest.artifacts DIR  keep the reports of search and load in DIR/<name of the test>
//	-granttest.seed N         repeat the random choices of a load; its interleaving cannot be repeated
//	-granttest.replay FILE    run the saved schedule FILE, or that of a word (dg1-...), and nothing else
//
// # What it needs
//
// Search and load need Linux, and a redis-server of version 7.0 or newer in the PATH or named by
// $DOUBLEGRANT_REDIS_SERVER. They turn off the logger of go-redis for the whole test binary, since go-redis
// has no logger for a single client, and faults would fill the output.
package granttest
