package explore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file has programs that cannot be searched. The search names the client and leaves nothing behind.

// fruitless runs a search that has to end without a verdict, and returns the reason. It calls free to end blocked
// clients, and then checks that nothing is left.
func fruitless(t *testing.T, s Spec, free ...func()) (why string) {
	t.Helper()
	leavesNothing(t, func() {
		res, err := Search(t.Context(), s)
		for _, f := range free {
			f()
		}
		require.NoError(t, err)
		require.Equal(t, harness.Unknown, res.Verdict())
		require.False(t, res.Exhausted)
		why = res.Stopped
	})
	return why
}

func TestRacedAClientThatPanics(t *testing.T) {
	for _, sent := range []int{0, 2} {
		panics := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
			writesTo("k", sent)(ctx, s, r)
			panic("oh no")
		}
		for _, workers := range []int{1, 2} {
			leavesNothing(t, func() {
				s := quiet(program(writesTo("k", 3), panics))
				s.Workers = workers
				_, err := Search(t.Context(), s)
				require.ErrorContains(t, err, "client 2 panicked: oh no")
				require.ErrorContains(t, err, "bad_test.go", "the stack")
			})
		}
	}
	leavesNothing(t, func() {
		s := quiet(program(writesTo("k", 3)))
		s.Program.Open = func(int, redis.UniversalClient) harness.Client { panic("no such place") }
		_, err := Search(t.Context(), s)
		require.ErrorContains(t, err, "panicked: no such place", "a constructor")
	})
}

// blockade is where a test's clients block. A search cannot end such clients, so free releases them after the search.
type blockade struct{ stuck, freed chan struct{} }

func newBlockade() blockade { return blockade{make(chan struct{}), make(chan struct{})} }

func (b blockade) free() { close(b.freed) }

// block reports that its caller does not go on, and blocks.
func (b blockade) block() {
	select {
	case b.stuck <- struct{}{}:
		<-b.freed
	case <-b.freed:
	}
}

// The first of two clients that block is named.
func TestAClientThatBlocks(t *testing.T) {
	for sent, want := range []string{"it never sent any", "it may wait for something other than a reply"} {
		b := newBlockade()
		s := quiet(program(writesTo("k", 3), func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
			writesTo("k", sent)(ctx, s, r)
			b.block()
		}))
		s.Clients, s.stuck = 3, b.stuck
		require.Equal(t, fmt.Sprintf("client 2 neither sent a command nor finished within %v: %s", parkWithin, want),
			fruitless(t, s, b.free))
	}
}

// A client that stops sending commands gets parkWithin of real time to go on. No other client acts here, so parkWithin
// may be short.
func TestTheTimeThatAClientHasIsReal(t *testing.T) {
	usual := parkWithin
	defer func() { parkWithin = usual }()
	parkWithin = 20 * time.Millisecond
	b := newBlockade()
	began := time.Now()
	why := fruitless(t, quiet(program(func(context.Context, *harness.Session, redis.UniversalClient) {
		<-b.freed
	})), b.free)
	require.Equal(t, "client 1 neither sent a command nor finished within 20ms: it never sent any", why)
	require.GreaterOrEqual(t, time.Since(began), parkWithin)
}

// A search names a goroutine that blocks. It also names a client whose subscription is read in a goroutine of its
// library.
func TestAThreadThatNeverEndsItsTurn(t *testing.T) {
	b := newBlockade()
	s := quiet(program(func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		harness.Go(ctx, func(context.Context) { b.block() })
		writesTo("k", 1)(ctx, s, r)
	}, idle))
	s.stuck = b.stuck
	require.Contains(t, fruitless(t, s, b.free), "client 1's thread 2 neither sent a command nor finished within ")

	b = newBlockade()
	s = quiet(program(func(ctx context.Context, _ *harness.Session, r redis.UniversalClient) {
		sub := r.Subscribe(ctx, "done")
		defer func() { _ = sub.Close() }()
		sub.Channel() // starts a goroutine that reads
		for !strings.Contains(strings.Join(goroutines(), ""), "explore.(*conn).reader(") {
			time.Sleep(time.Millisecond) // go-redis does not report when it reads
		}
		b.block()
	}, idle))
	s.stuck = b.stuck
	require.Contains(t, fruitless(t, s, b.free),
		"client 1 reads its subscription in a goroutine that the explorer does not control")
}

// fickle returns a search of two clients. One always does the same. The other one comes from second, which is given how
// often that client has been opened, from 1.
func fickle(second func(times int) client) Spec {
	var times atomic.Int64
	s := quiet(program(writesTo("k", 4)))
	steady := s.Program.Open
	s.Program.Open = func(i int, r redis.UniversalClient) harness.Client {
		if i == 1 {
			return opened{second(int(times.Add(1))), r}
		}
		return steady(i, r)
	}
	s.WithoutReduction = true
	return s
}

// A search refuses a client that behaves differently each time. The reason names the client that ended too early, or
// both commands that it sent.
func TestAClientThatIsNotTheSameEachTime(t *testing.T) {
	why := fruitless(t, fickle(func(times int) client {
		if times > 4 { // each schedule may be run twice: to learn it and to compare it
			return writesTo("k", 1)
		}
		return writesTo("k", 4)
	}))
	require.Equal(t, "a client behaves differently each time: client 2 has ended where it took a step "+
		"before"+remedyInside, why)

	why = fruitless(t, fickle(func(times int) client { return writesTo(fmt.Sprintf("k%d", times/5), 4) }))
	for _, part := range []string{"client 2 sent ", " k1", " k0", " when all was the same before" + remedyInside} {
		require.Contains(t, why, part)
	}
}

func TestSpecsThatAreOfNoUse(t *testing.T) {
	good := quiet(program(idle))
	for want, spoil := range map[string]func(*Spec){
		"the program has no clients":     func(s *Spec) { s.Program.Open = nil },
		"the program has no lease":       func(s *Spec) { s.Program.Lease = 0 },
		"no checkers":                    func(s *Spec) { s.Checkers = nil },
		"1 clients: ask for 2 to 4":      func(s *Spec) { s.Clients = 1 },
		"17 clients: ask for 2 to 4":     func(s *Spec) { s.Clients = 17 },
		"-1 clients":                     func(s *Spec) { s.Clients = -1 },
		"2 failovers":                    func(s *Spec) { s.Failovers = 2 },
		"-1 failovers":                   func(s *Spec) { s.Failovers = -1 },
		"flushes, limits and workers":    func(s *Spec) { s.Flushes = -1 },
		"limits and workers cannot be":   func(s *Spec) { s.MaxSchedules = -1 },
		"workers cannot be negative":     func(s *Spec) { s.Workers = -1 },
		"and workers cannot be negative": func(s *Spec) { s.For = -1 },

		"17 clients: ask for 2 to 16": func(s *Spec) {
			s.Clients, s.Random = 17, &Random{Schedules: 1}
		},
		"5 clients: ask for 2 to 4, or for": func(s *Spec) { s.Clients = 5 },
		"-1 schedules at random":            func(s *Spec) { s.Random = &Random{Schedules: -1} },
		"schedules at random need a limit":  func(s *Spec) { s.Random, s.For = &Random{}, 0 },
		"depth 11: ask for 1 to 10":         func(s *Spec) { s.Random = &Random{Schedules: 1, Depth: 11} },
		`unknown strategy "pso": choose pct or pos`: func(s *Spec) {
			s.Random = &Random{Schedules: 1, Strategy: "pso"}
		},
		"pos guarantees nothing about a depth": func(s *Spec) {
			s.Random = &Random{Schedules: 1, Strategy: "pos", Depth: 2}
		},
		"depth -1: ask for 1 to 10": func(s *Spec) { s.Random = &Random{Schedules: 1, Depth: -1} },
		"have their own number": func(s *Spec) {
			s.Random, s.MaxSchedules = &Random{Schedules: 1}, 5
		},
		"are never pruned": func(s *Spec) {
			s.Random, s.WithoutReduction = &Random{Schedules: 1}, true
		},
		"-1 schedules to run twice: ask for 0 or more": func(s *Spec) { s.RunTwice = -1 },
	} {
		s := good
		spoil(&s)
		_, err := Search(t.Context(), s)
		require.ErrorIs(t, err, ErrSpec, want)
		require.ErrorContains(t, err, want)
		if s.Random == nil && s.Clients != 5 { // a replay draws nothing, so it may have that many clients
			require.ErrorIs(t, Replay(t.Context(), s, interleave.Counterexample{}, 1), ErrSpec, want)
		}
	}
}

func TestDefaultsOfASpec(t *testing.T) {
	s, err := Spec{Program: program(idle), Checkers: []harness.Checker{&collector{}}}.withDefaults()
	require.NoError(t, err)
	require.Equal(t, []interleave.Budget{
		{Clients: 3, Crashes: 1, Expiries: 1},
		{Clients: 3, Expiries: 1, Approaches: 1},
		{Clients: 2, Expiries: 1, LostAnswers: 1, Place: 2},
		{Clients: 2, Expiries: 1, Late: 1, Place: 2},
	}, s.budgets())
	require.Equal(t, 2, s.Workers)
	s.Crashes, s.Expiries, s.LostCommands = -1, -5, -1
	s, err = s.withDefaults()
	require.NoError(t, err)
	require.Equal(t, []interleave.Budget{{Clients: 3}}, s.budgets())
}

func TestACheckpointIsOfEveryBound(t *testing.T) {
	s := quiet(program(idle))
	for i, b := range s.Fields() {
		other := s
		*other.Fields()[i].N++
		require.NotEqual(t, planOf(&s), planOf(&other), b.Flag)
	}
}

// If Redis dies, the harness has failed. TestNothingIsLeftBehind has a Redis that cannot be started.
func TestRedisThatFails(t *testing.T) {
	leavesNothing(t, func() {
		killer := does("kill", func(ctx context.Context, r redis.UniversalClient) (string, error) {
			said, err := r.Info(ctx, "server").Result()
			if err != nil {
				return "", err
			}
			_, pid, _ := strings.Cut(said, "process_id:")
			n, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(pid, "\n", 2)[0]))
			if err != nil {
				return "", err
			}
			return "", errors.Join(syscall.Kill(n, syscall.SIGKILL), r.Set(ctx, "k", 1, 0).Err())
		})
		_, err := Search(t.Context(), quiet(program(killer, writesTo("k", 3))))
		require.ErrorContains(t, err, "Redis")
		require.NotErrorIs(t, err, schedule.ErrStopped)
	})
}

// Some searches run every schedule, find nothing, and still prove nothing. Some programs cannot be run at all.
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
	searched(t, quiet(program(sends("SET k v", "OBJECT ENCODING k"), idle)))
	short := quiet(program(writesTo("k", 1)))
	short.Crashes = 1
	stubborn := quiet(program(func(ctx context.Context, _ *harness.Session, r redis.UniversalClient) {
		for r.Get(ctx, "lock").Err() == redis.Nil {
		}
	}, writesTo("k", 1)))
	stubborn.Program.NoBackgroundWork = true // looking for it in so many steps takes seconds
	starts := func(ctx context.Context, _ *harness.Session, r redis.UniversalClient) {
		for {
			harness.Go(ctx, func(ctx context.Context) { _ = r.Get(ctx, "k").Err() })
		}
	}
	grants := func(_ context.Context, s *harness.Session, _ redis.UniversalClient) {
		s.Invoke(harness.Op{Kind: harness.Acquire, Key: "lock"}, func(op *harness.Op) { op.Outcome = harness.OK })
	}
	for _, c := range []struct {
		want string
		s    Spec
	}{
		{"no next ever succeeded", quiet(program(idle))},
		{"only client 1 ever acquired anything, so no two owners met",
			locks(false, acquires("1", "", true), acquires("2", "", false))},
		{"only client 2 ever acquired anything, so no two owners met",
			locks(false, acquires("1", "", false), acquires("2", "", true))},
		{"no grant had a fencing token: each was empty", locks(true, acquires("1", "", true), acquires("2", "", true))},
		{"no acquire ever succeeded", locks(false, acquires("1", "", false))},
		{"no client could crash: each is done with its first command", short},
		{"client 1's acquire was answered yes without any command", locks(false, grants, idle)},
		{"a schedule of 400 steps does not end: the last command was client 1's GET lock: check that no client " +
			"retries for ever",
			stubborn},
		{"client 1 has started 31 goroutines and subscriptions in one schedule, the most that are explored: check " +
			"that it does not start them", quiet(program(starts, idle))},
		{"asks how long a key was idle", quiet(program(sends("SET k v", "OBJECT IDLETIME k"), idle))},
		{"asks how long a key was idle",
			quiet(program(byHash("return redis.call('OBJECT', \"IdleTime\", KEYS[1]) or ''", 1), idle))},
	} {
		require.Contains(t, fruitless(t, c.s), c.want)
	}
}
