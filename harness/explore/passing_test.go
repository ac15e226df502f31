package explore

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// timed returns a Spec in which leases may end, as often as expiries says, and nothing else goes wrong.
func timed(p interleave.Program, expiries int) Spec {
	spec := quiet(p)
	spec.Expiries, spec.LostCommands = expiries, -1 // so that there is a single part
	return spec
}

// Each lease ends on its own: the short one first, the long one later.
func TestLeasesEndOneByOne(t *testing.T) {
	setKeys := sends("SET short 1 PX 1000", "SET long 1 EX 10", "SET year 1 EX 31536000", "SET ever 1")
	readKeys := sends("PTTL short", "PTTL long", "EXISTS year", "EXISTS ever")
	s := newScheduler(t, timed(program(setKeys, readKeys), 1))
	read := func(k int) []string {
		ex := s.begin()
		s.follow(ex, interleave.Run(0), interleave.Run(0), interleave.Run(0), interleave.Run(0), interleave.Pass(k))
		require.NotContains(t, possible(ex), interleave.Pass(0), "time does not pass twice in a row")
		s.finish(ex)
		return append(commands(ex)[4:5], results(ex.ops)[4:]...)
	}
	for range 2 {
		require.Equal(t, []string{"0: 999ms pass: 1ms remains of short =", "2: PTTL short = 1", "2: PTTL long = 9001",
			"2: EXISTS year = 1", "2: EXISTS ever = 1"}, read(0))
		require.Equal(t, []string{"0: 1.001s pass: short expires =", "2: PTTL short = -2", "2: PTTL long = 8999",
			"2: EXISTS year = 1", "2: EXISTS ever = 1"}, read(1))
		require.Equal(t, []string{"0: 10.001s pass: short, long expires =", "2: PTTL short = -2", "2: PTTL long = -2",
			"2: EXISTS year = 1", "2: EXISTS ever = 1"}, read(3))
		require.Equal(t, []string{"0: 8760h0m0.001s pass: short, long, year expires =", "2: PTTL short = -2",
			"2: PTTL long = -2", "2: EXISTS year = 0", "2: EXISTS ever = 1"}, read(5))
	}
}

// Leases from a millisecond to years end by Redis's own rule: a key exists at its end and is gone a millisecond later.
func TestLeasesOfEveryLength(t *testing.T) {
	for _, ttl := range []string{"1", "2", "37", "999", "86400000", "604800000", "3155760000000"} {
		s := newScheduler(t, timed(program(sends("SET k 1 PX "+ttl), sends("PTTL k")), 1))
		ex := s.begin()
		s.follow(ex, interleave.Run(0))
		instants, err := ex.reachableInstants()
		require.NoError(t, err)
		over := interleave.Pass(len(instants) - 1)
		s.follow(ex, over, interleave.Run(1))
		require.Equal(t, "2: PTTL k = -2", results(ex.ops)[1], ttl)
		fine, err := ex.fineInstants()
		require.NoError(t, err)
		require.Len(t, fine, 1, "all are over: there is midnight")
		ex = s.begin()
		s.follow(ex, interleave.Run(0))
		fine, err = ex.fineInstants()
		require.NoError(t, err)
		ends, err := ex.leaseEnds()
		require.NoError(t, err)
		last := slices.IndexFunc(fine, func(t schedule.Instant) bool {
			return t.At.Truncate(keyspace.Grain) == ends[0]
		})
		s.follow(ex, fine[last].Choice, interleave.Run(1))
		require.Equal(t, "2: PTTL k = 0", results(ex.ops)[1], ttl)
	}
}

// If no key has a TTL, the lease that an operation was promised still ends.
func TestWhatWasPromisedEnds(t *testing.T) {
	promised := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		s.Invoke(harness.Op{Kind: harness.Acquire, Key: "k", TTL: lease}, func(op *harness.Op) {
			op.Outcome, op.Result = harness.OK, r.Set(ctx, "k", "1", 0).Val()
		})
	}
	s := newScheduler(t, timed(program(promised, sends("GET k")), 1))
	ex := s.begin()
	require.NotContains(t, possible(ex), interleave.Pass(0), "before anything has happened nothing can expire")
	s.follow(ex, interleave.Run(0))
	before := ex.now
	s.follow(ex, interleave.Pass(1))
	require.Greater(t, ex.now-before, lease)
	require.Equal(t, "0: 10.001s pass =", commands(ex)[1])
	s.follow(ex, interleave.Run(1))
	require.Empty(t, possible(ex))
	require.Equal(t, "2: GET k = 1", results(ex.ops)[1])
}

// With a budget of one expiry, time may pass once to the end of a lease and once beyond an end, in either order.
func TestABudgetOfTime(t *testing.T) {
	s := newScheduler(t, timed(program(sends("SET k 1 PX 1000", "PTTL k", "PTTL k", "SET k 1 PX 1000", "PTTL k")), 1))
	ex := s.begin()
	s.follow(ex, interleave.Run(0), interleave.Pass(0), interleave.Run(0))
	require.Contains(t, possible(ex), interleave.Pass(0))
	s.follow(ex, interleave.Pass(0), interleave.Run(0), interleave.Run(0))
	require.NotContains(t, possible(ex), interleave.Pass(0), "the budget is used up")
	s.finish(ex)
	require.Equal(t, []string{"1: SET k 1 PX 1000 = OK", "1: PTTL k = 1", "1: PTTL k = -2", "1: SET k 1 PX 1000 = OK",
		"1: PTTL k = 1000"}, results(ex.ops)[:5])

	// The other way round as well: beyond the end of one lease, and to the last instant of the next.
	ex = s.begin()
	s.follow(ex, interleave.Run(0), interleave.Pass(1), interleave.Run(0), interleave.Run(0), interleave.Run(0))
	require.Contains(t, possible(ex), interleave.Pass(0))
	require.NotContains(t, possible(ex), interleave.Pass(1))
	s.follow(ex, interleave.Pass(0))
	s.finish(ex)
	require.Equal(t, "1: PTTL k = 1", results(ex.ops)[4])
}

// Redis's TIME shows the schedule's time in commands and scripts. A client's clock shows the same plus its skew.
func TestServersAndClientsShowTheSameTime(t *testing.T) {
	look := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		for range 2 {
			op(s, "own", func() (string, error) {
				return harness.Now(ctx).UTC().Format("2006-01-02 15:04:05.000"), nil
			})
			op(s, "server", func() (string, error) {
				at, err := r.Time(ctx).Result()
				return at.UTC().Format("2006-01-02 15:04:05.000"), err
			})
			sends("SET k 1 PX 5000")(ctx, s, r)
		}
	}
	spec := timed(program(look), 1)
	spec.Skew = time.Hour
	s := newScheduler(t, spec)
	for range 2 {
		ex := s.run(interleave.Run(0), interleave.Run(0), interleave.Run(0), interleave.Pass(1), interleave.Run(0),
			interleave.Run(0), interleave.Run(0), interleave.Run(1), interleave.Run(1))
		require.Equal(t, []string{
			"1: own = 2029-12-31 23:59:59.997", "1: server = 2029-12-31 23:59:59.997", "1: SET k 1 PX 5000 = OK",
			"1: own = 2030-01-01 00:00:04.998", "1: server = 2030-01-01 00:00:04.998", "1: SET k 1 PX 5000 = OK",
			"2: own = 2030-01-01 01:00:04.998", "2: server = 2030-01-01 00:00:04.998",
		}, results(ex.ops)[:8])
	}
}

// A client that reads a clock sees midnight pass: the end of a second, minute, hour and day.
func TestMidnightMattersToThoseWhoLookAtAClock(t *testing.T) {
	day := `local t = redis.call('TIME') return tostring(math.floor(t[1] / 86400))`
	looks := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		for range 2 {
			op(s, "day", func() (string, error) { return r.Eval(ctx, day, []string{"k"}).Text() })
		}
	}
	spec := timed(program(looks, idle), 1)
	spec.Program.Timeless = true
	ex := newScheduler(t, spec).run(interleave.Run(0), interleave.Pass(0), interleave.Run(0))
	require.Equal(t, []string{"1: day = 21914", "1: day = 21915"}, results(ex.ops))
	require.Equal(t, "0: 3ms pass =", commands(ex)[1])
}

// A sleep is not a step, unless a lease ends meanwhile: then others may act before the sleeper.
func TestNapsOutliveALease(t *testing.T) {
	naps := does("nap", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		for range 3 {
			if err := harness.Sleep(ctx, 3*time.Second); err != nil {
				return "", err
			}
		}
		return say(ctx, r, "EXISTS k")
	})
	s := newScheduler(t, quiet(program(inTurn(sends("SET k 1 EX 5"), naps), sends("EXISTS k"))))
	ex := s.begin()
	s.follow(ex, interleave.Run(0), interleave.Run(0), interleave.Run(1), interleave.Run(0))
	require.Empty(t, possible(ex))
	require.Equal(t, []string{"1: SET k 1 EX 5 = OK", "1: waits 9s =", "2: EXISTS k = 0",
		"1: EXISTS k = 0"}, commands(ex))
	require.GreaterOrEqual(t, ex.ops[2].Return, 9*time.Second)
	require.Less(t, ex.ops[2].Call, time.Second, "it began with its sleep")
	ex = s.run(interleave.Run(1), interleave.Run(0), interleave.Run(0), interleave.Run(0))
	require.Equal(t, "2: EXISTS k = 0", results(ex.ops)[0])

	// A nap in which no lease ends is not a step.
	short := does("nap", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		require.NoError(t, harness.Sleep(ctx, time.Second))
		return say(ctx, r, "SET k 1 EX 5")
	})
	// the operation ends after its sleep
	end := does("end", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		_, err := say(ctx, r, "GET k")
		require.NoError(t, harness.Sleep(ctx, 2*time.Second))
		return "", err
	})
	s = newScheduler(t, quiet(program(inTurn(short, end), idle)))
	ex = s.run()
	require.Equal(t, []string{"1: waits 1s, then SET k 1 EX 5 = OK", "1: GET k = 1", "1: waits 2s ="}, commands(ex)[:3])
	require.GreaterOrEqual(t, ex.ops[1].Return, 3*time.Second)
}

// noCompiler is a compiler that does not exist, so that the servers' clocks cannot be set.
const noCompiler = "no-such-compiler"

// If clocks cannot be set, leases still end, and a client that reads a server's clock is not judged.
func TestClocksThatCannotBeSet(t *testing.T) {
	t.Setenv("CC", noCompiler)
	spec := timed(program(sends("SET short 1 PX 1000", "SET long 1 EX 100"), sends("EXISTS short", "EXISTS long")), 1)
	s := newScheduler(t, spec)
	require.Contains(t, s.w.WhyNoClock, noCompiler)
	ex := s.run(interleave.Run(0), interleave.Run(0), interleave.Pass(0))
	require.Equal(t, []string{"2: EXISTS short = 0", "2: EXISTS long = 1"}, results(ex.ops)[2:])

	res := searched(t, spec)
	require.Len(t, res.Limits, 1)
	require.Contains(t, res.Limits[0], noCompiler)
	looks := sends("SET k 1 PX 1000", "TIME")
	res = resultOf(t, timed(program(looks), 1))
	require.Equal(t, harness.Unknown, res.Verdict())
	require.Contains(t, res.Stopped, "looks at a clock")

	// What is found after time has passed may be due to a clock that stood still. What is found before is not.
	for after, want := range map[time.Duration]harness.Verdict{time.Second: harness.Unknown, 0: harness.Invalid} {
		late := timed(program(looks), 1)
		late.Checkers = []harness.Checker{finder(func(op harness.Op) bool {
			return op.Key == "TIME" && op.Return > after
		})}
		res = resultOf(t, late)
		require.Equal(t, want, res.Verdict(), res.Summary())
	}
}

// Observe and Finally look at the store in the schedule's time.
func TestQuestionsAreAskedInTheSchedulesTime(t *testing.T) {
	spec := timed(program(sends("SET k 1 PX 1000")), 1)
	var seen []time.Duration
	spec.Program.Observe = func(ctx context.Context, _ *harness.Session, _ redis.UniversalClient, _ harness.Op) {
		seen = append(seen, harness.Now(ctx).Sub(keyspace.Epoch).Truncate(time.Millisecond))
	}
	spec.Program.Finally = func(ctx context.Context, _ *harness.Session, r redis.UniversalClient,
		after interleave.After) error {
		require.NoError(t, after.Pass(500*time.Millisecond))
		require.NoError(t, harness.Sleep(ctx, 200*time.Millisecond))
		at, err := r.Time(ctx).Result()
		require.NoError(t, err)
		require.Equal(t, at.Truncate(time.Millisecond).UTC(), harness.Now(ctx).Truncate(time.Millisecond).UTC())
		seen = append(seen, harness.Now(ctx).Sub(keyspace.Epoch).Truncate(time.Millisecond))
		return nil
	}
	s := newScheduler(t, spec)
	s.run(interleave.Run(0))
	require.Zero(t, seen[0])
	require.Equal(t, 700*time.Millisecond, seen[len(seen)-1])
}

// Finally may use the connection of a client, since the client is done. Observe may not, and gets an error at once.
func TestAClientsConnectionIsAskedInTheEndOnly(t *testing.T) {
	spec := quiet(program(sends("SET k 1", "SET k 2")))
	var clients []redis.UniversalClient
	open := spec.Program.Open
	spec.Program.Open = func(i int, r redis.UniversalClient) harness.Client {
		clients = append(clients[:i], r)
		return open(i, r)
	}
	var meanwhile []error
	spec.Program.Observe = func(ctx context.Context, _ *harness.Session, _ redis.UniversalClient, _ harness.Op) {
		meanwhile = append(meanwhile, clients[0].Get(ctx, "k").Err())
	}
	spec.Program.Finally = func(ctx context.Context, _ *harness.Session, _ redis.UniversalClient,
		_ interleave.After) error {
		require.Equal(t, "2", clients[0].Get(ctx, "k").Val())
		return nil
	}
	s := newScheduler(t, spec)
	s.run(interleave.Run(0), interleave.Run(0))
	require.ErrorIs(t, meanwhile[0], errBusy)
	require.Zero(t, s.w.outOfTurn)
}

// All readings of a clock in one millisecond return the same whole milliseconds. So their orders need not all be tried.
// Time can still pass between them.
func TestLooksAtMillisecondsAreTriedInOneOrder(t *testing.T) {
	looks := func(how func(context.Context) int64) client {
		return func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
			op(s, "k", func() (string, error) {
				first := how(ctx)
				_, err := say(ctx, r, "GET k")
				return strconv.FormatInt(how(ctx)-first, 10), err
			})
		}
	}
	seen := map[string]bool{}
	schedules := func(how func(context.Context) int64) int {
		spec := quiet(program(inTurn(sends("SET k 1 PX 1000"), looks(how)), looks(how)))
		spec.Checkers = []harness.Checker{finds(func(ops []harness.Op, _ func(harness.Anomaly)) {
			for _, op := range ops {
				if op.Key == "k" {
					seen[op.Result] = true
				}
			}
		})}
		spec.WithoutMemory = true
		calm := searched(t, spec).Schedules
		clear(seen)
		spec.Expiries = 1
		searched(t, spec)
		return calm
	}
	fine := schedules(func(ctx context.Context) int64 { return harness.Now(ctx).UnixMicro() })
	require.Less(t, schedules(harness.NowMillis), fine)
	require.Contains(t, seen, "0")
	require.Contains(t, seen, "1001")
}
