package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/internal/processes"
)

// writesTo makes a client of n writes to one key, each an operation of its own.
func writesTo(key string, n int) client {
	return sends(strings.Split(strings.Repeat("INCR "+key+",", n), ",")[:n]...)
}

// together makes one operation of all commands.
func together(commands ...string) client {
	return does(strings.Join(commands, ", "), func(ctx context.Context, r redis.UniversalClient) (string, error) {
		var all []string
		for _, c := range commands {
			result, err := say(ctx, r, c)
			if err != nil {
				return "", err
			}
			all = append(all, result)
		}
		return strings.Join(all, " "), nil
	})
}

// Two clients of k steps each have (2k choose k) orders, and every one of them is run, once.
func TestEveryOrderIsRun(t *testing.T) {
	for k, orders := range map[int]int{1: 2, 2: 6, 4: 70} {
		s := quiet(program(writesTo("k", k)))
		s.Unreduced = true
		all := histories(t, s)
		require.Len(t, all, orders, "%d commands each", k)
		seen := map[string]bool{}
		for _, ops := range all {
			seen[strings.Join(results(ops), " ")] = true
		}
		require.Len(t, seen, len(all), "no two of them are the same")
	}
}

// If every step begins an operation and ends one, and all write one key, no schedule can be left out.
func TestNothingIsPrunedWhereEveryOrderIsAnother(t *testing.T) {
	res := searched(t, quiet(program(writesTo("k", 3))))
	require.Equal(t, 20, res.Schedules)
	require.Zero(t, res.Pruned)
	require.Equal(t, 120, res.Steps)
}

func TestOrdersOfIndependentCommandsArePruned(t *testing.T) {
	s := quiet(program(together("INCR a", "INCR a", "INCR a"), together("INCR b", "INCR b", "INCR b")))
	pruned := searched(t, s)
	s.Unreduced = true
	all := searched(t, s)
	require.Equal(t, 20, all.Schedules)
	require.Zero(t, all.Pruned)
	// One after the other, the other after the one, and both at the same time: these differ for a checker.
	require.GreaterOrEqual(t, pruned.Schedules, 3)
	require.Less(t, pruned.Schedules, all.Schedules)
}

// If clients differ only in their names, only the first of them begins.
func TestClientsThatAreSymmetric(t *testing.T) {
	s := quiet(program(writesTo("k", 2)))
	require.Equal(t, 6, searched(t, s).Schedules)
	s.Program.Symmetric = true
	require.Equal(t, 3, searched(t, s).Schedules)
	s.Skew = time.Second // with it the clients differ
	require.Equal(t, 6, searched(t, s).Schedules)
}

// marks is a dedup filter in two commands: a client that finds no mark sets one.
func marks(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
	op(s, "msg", func() (string, error) {
		if err := r.Get(ctx, "msg").Err(); err != redis.Nil {
			return "seen", err
		}
		if err := r.Set(ctx, "msg", "1", 0).Err(); err != nil {
			return "", err
		}
		return "first", r.Expire(ctx, "msg", 20*time.Second).Err()
	})
}

// Three clients of marks have 702 schedules without pruning, and fewer with it.
func TestThreeClients(t *testing.T) {
	s := quiet(program(marks))
	s.Clients, s.Unreduced, s.Workers = 3, true, 2
	all := histories(t, s)
	require.Len(t, all, 702)
	require.True(t, slices.ContainsFunc(all, func(ops []harness.Op) bool { return strings.Count(fmt.Sprint(results(ops)), "first") > 1 }))
	s.Unreduced = false
	pruned := searched(t, s)
	require.Less(t, pruned.Schedules, 702)
	require.Greater(t, pruned.Schedules, 1)
}

// All that a schedule may contain beside steps adds to the number of schedules. First 2 clients of 1 command each, and
//
//	a crash   of the first to move, after its step: it is done by then, so there is none
//	an expiry after the first command: time passes to its last millisecond, or beyond it
func TestInterferencesAddSchedules(t *testing.T) {
	needClocks(t)
	s := quiet(program(writesTo("k", 1)))
	s.Unreduced = true
	s.Crashes = 1
	res, err := Search(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, 2, res.Schedules)
	require.Equal(t, "no client could crash: each is done with its first command", res.Stopped)
	s = quiet(program(sends("SET k 1 EX 10")))
	s.Unreduced, s.Expiries = true, 1
	require.Equal(t, 6, searched(t, s).Schedules)
	s = quiet(program(writesTo("k", 2)))
	s.Unreduced, s.Crashes = true, 1
	require.Equal(t, 6+2*3, searched(t, s).Schedules, "either may crash after its first command, among two of the other")
}

// Stopped replication without a promotion after it shows nothing. With a stop H of replication and a
// promotion P, for each of the two orders of the steps A and B, A B and H A P B are judged; H A B and A H B are given up.
func TestStoppedReplicationWithoutAPromotionIsNotJudged(t *testing.T) {
	s := quiet(program(writesTo("k", 1)))
	s.Unreduced, s.Failovers = true, 1
	res := searched(t, s)
	require.Equal(t, 2*2, res.Schedules)
	require.Equal(t, 2*2, res.Pruned)
}

// In a Timeless program leases end only if there may be one.
func TestATimelessProgramHasExpiriesOnlyWithATTL(t *testing.T) {
	needClocks(t)
	schedules := func(c client) int {
		p := program(c)
		p.Timeless = true
		s := quiet(p)
		s.Expiries = 1
		return searched(t, s).Schedules
	}
	tx := func(last string) client {
		return does("tx", func(ctx context.Context, r redis.UniversalClient) (string, error) {
			_, err := r.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "k")
				_, err := say(ctx, p, last)
				return err
			})
			return "", err
		})
	}
	require.Equal(t, 2, schedules(sends("INCR k")))
	require.Equal(t, 6, schedules(sends("SET k 1 EX 10")), "to its last millisecond, and beyond")
	require.Equal(t, 2, schedules(tx("PERSIST k")))
	require.Equal(t, 6, schedules(tx("EXPIRE k 10")))
}

// crossing is a program of two clients with 26 schedules, and 14 that are pruned.
func crossing() interleave.Program {
	both := func(key string) client {
		return func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
			together("INCR "+key, "INCR c")(ctx, s, r)
			together("INCR c", "INCR "+key)(ctx, s, r)
		}
	}
	return program(both("a"), both("b"))
}

func TestRacedMaxSchedulesIsExact(t *testing.T) {
	for _, limit := range []int{10, 25} {
		for _, workers := range []int{1, 2} {
			s := quiet(crossing())
			s.MaxSchedules, s.Workers = limit, workers
			res, err := Search(t.Context(), s)
			require.NoError(t, err)
			require.Equal(t, limit, res.Schedules, "%d workers", workers)
			require.False(t, res.Exhausted)
			require.Equal(t, harness.Unknown, res.Verdict())
			require.Equal(t, fmt.Sprintf("%d schedules were run", limit), res.Stopped)
			require.Equal(t, fmt.Sprintf("nothing can be said after %d schedules: %d schedules were run", limit, limit), res.Summary())
		}
	}
	s := quiet(program(writesTo("k", 1)))
	s.MaxSchedules = 2 // that is all of them
	require.Equal(t, 2, searched(t, s).Schedules)
}

func TestASearchThatRunsOutOfTime(t *testing.T) {
	s := quiet(program(writesTo("k", 10)))
	s.Unreduced, s.For = true, 50*time.Millisecond
	began := time.Now()
	require.Equal(t, "the time is up (50ms)", fruitless(t, s))
	require.GreaterOrEqual(t, time.Since(began), s.For)
}

func TestRacedASearchThatIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := quiet(program(func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		writesTo("k", 10)(ctx, s, r)
		cancel()
	}))
	s.Unreduced, s.Workers = true, 2
	res, err := Search(ctx, s)
	require.NoError(t, err)
	require.Equal(t, "interrupted", res.Stopped)
	require.False(t, res.Exhausted)
	require.Less(t, res.Schedules, 20_000, "of 184,756: it ends soon after")
}

func TestTheFirstCounterexampleMayEndASearch(t *testing.T) {
	s := quiet(program(marks), finder(func(op harness.Op) bool { return op.Result == "first" })) // every schedule
	s.First, s.Unreduced = true, true
	res, err := Search(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, "a counterexample was found", res.Stopped)
	require.False(t, res.Exhausted)
	require.Equal(t, 1, res.Schedules)
	require.Len(t, res.Found, 1)
	require.Equal(t, harness.Invalid, res.Verdict())
	require.NotZero(t, res.First)
	require.LessOrEqual(t, res.First, res.Elapsed)
}

// secondFirst is a checker that finds clients that are told that they are the first although another one was.
type secondFirst struct{}

func (secondFirst) Name() string { return "second first" }

func (secondFirst) Check(_ context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	var firsts []harness.Op
	for op := range h.Ops {
		if op.Result == "first" {
			firsts = append(firsts, op)
		}
	}
	if len(firsts) > 1 {
		a, b := firsts[0], firsts[1]
		found(harness.Anomaly{
			Class: harness.DuplicateDelivery, Key: "msg", Ops: firsts, From: a.Call, To: b.Return,
			Note: fmt.Sprintf("clients %d and %d are both the first", a.Client, b.Client),
		})
	}
	return harness.Judgement{Absent: true}
}

// The race of GET and SET takes six steps: the counterexample is that, however many workers search, and in one order.
func TestRacedTheSmallestCounterexampleIsFound(t *testing.T) {
	var results []interleave.Result
	for _, workers := range []int{1, 2, 2} {
		s := quiet(program(marks), secondFirst{})
		s.Clients, s.Crashes, s.Workers = 3, 1, workers
		res := searched(t, s)
		require.Len(t, res.Found, 1)
		results = append(results, res)
	}
	c := results[0].Found[0]
	require.Equal(t, 6, c.Length())
	require.Equal(t, harness.DuplicateDelivery, c.Anomaly.Class)
	for _, res := range results {
		require.Equal(t, c, res.Found[0])
		require.Equal(t, results[0].Schedules, res.Schedules)
		require.Equal(t, results[0].Pruned, res.Pruned)
		require.Equal(t, results[0].Steps, res.Steps)
	}
	require.Equal(t, ""+
		"  1  client 1  GET msg        (nil)  \n"+
		"  2  client 2  GET msg        (nil)  \n"+
		"  3  client 2  SET msg 1      OK     \n"+
		"  4  client 2  EXPIRE msg 20  1      -> has the number first\n"+
		"  5  client 1  SET msg 1      OK     \n"+
		"  6  client 1  EXPIRE msg 20  1      -> has the number first\n", c.Text())
}

// A search that ran every schedule and found nothing may have shown nothing all the same.
func TestSearchesThatShowNothing(t *testing.T) {
	acquires := func(name, token string, may bool) client {
		return func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
			s.Invoke(harness.Op{Kind: harness.Acquire, Key: "k", Arg: name}, func(op *harness.Op) {
				if op.Outcome = harness.Fail; r.SetNX(ctx, "k", name, 0).Val() && may {
					op.Outcome, op.Result = harness.OK, token
				}
			})
		}
	}
	locks := func(fenced bool, clients ...client) Spec {
		p := program(clients...)
		p.Kinds, p.Fenced = []harness.Kind{harness.Acquire}, fenced
		return quiet(p)
	}
	searched(t, locks(true, acquires("1", "1", true), acquires("2", "1", true)))
	for want, s := range map[string]Spec{
		"only client 1 ever acquired anything, so nothing was shown of two owners": locks(false, acquires("1", "", true), acquires("2", "", false)),
		"only client 2 ever acquired anything, so nothing was shown of two owners": locks(false, acquires("1", "", false), acquires("2", "", true)),
		"no grant had a fencing token: each was empty":                             locks(true, acquires("1", "", true), acquires("2", "", true)),
		"no acquire ever succeeded, so nothing was shown":                          locks(false, acquires("1", "", false)),
	} {
		require.Equal(t, want, fruitless(t, s))
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	s := quiet(program(marks), secondFirst{})
	s.Workers, s.Failovers, s.Crashes, s.MaxSchedules = 2, 1, 1, 100
	var once sync.Once
	var running []string
	var found []interleave.Counterexample
	leavesNothing(t, func() {
		s := s
		s.Checkers = append(s.Checkers, finder(func(harness.Op) bool { once.Do(func() { running = processes.Children() }); return false }))
		res, err := Search(t.Context(), s)
		require.NoError(t, err)
		found = res.Found
	})
	require.Contains(t, running, "redis-server", "or this test sees nothing")
	require.NotEmpty(t, found)
	leavesNothing(t, func() { require.NoError(t, Replay(t.Context(), s, found[0], 2)) })
	leavesNothing(t, func() {
		s.Redis = "/nowhere/redis-server"
		_, err := Search(t.Context(), s)
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrSpec)
		require.Error(t, Replay(t.Context(), s, found[0], 1))
	})
}
