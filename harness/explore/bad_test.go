package explore

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file has programs that cannot be searched. The search says so, names the client, and leaves nothing behind.

// searchSoon runs a search and fails if it hangs.
func searchSoon(t *testing.T, s Spec) (res interleave.Result, err error) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); res, err = Search(t.Context(), s) }()
	select {
	case <-done:
	case <-time.After(time.Minute): // a busy machine needs some of it
		t.Fatal("the search hangs")
	}
	return res, err
}

func TestAClientThatPanics(t *testing.T) {
	panics := func(context.Context, *harness.Session, redis.UniversalClient) { panic("oh no") }
	later := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		writesTo("k", 2)(ctx, s, r)
		panic("oh no")
	}
	for _, clients := range [][]client{{writesTo("k", 3), panics}, {writesTo("k", 3), later}} {
		for _, workers := range []int{1, 2} {
			leavesNothing(t, func() {
				s := quiet(program(clients...))
				s.Workers = workers
				_, err := searchSoon(t, s)
				require.ErrorContains(t, err, "client 2 panicked: oh no")
				require.ErrorContains(t, err, "bad_test.go", "the stack")
			})
		}
	}
}

// A constructor that panics ends the search as a client that panics does: with its message, and nothing left behind.
func TestAConstructorThatPanics(t *testing.T) {
	leavesNothing(t, func() {
		s := quiet(program(writesTo("k", 3), writesTo("k", 2)))
		open := s.Program.Open
		s.Program.Open = func(i int, r redis.UniversalClient) harness.Client {
			if i == 1 {
				panic("no such place")
			}
			return open(i, r)
		}
		_, err := searchSoon(t, s)
		require.ErrorContains(t, err, "panicked: no such place")
	})
}

func TestClientsThatDoNothing(t *testing.T) {
	leavesNothing(t, func() {
		res, err := searchSoon(t, quiet(program(idle)))
		require.NoError(t, err)
		require.Equal(t, "no next ever succeeded, so nothing was shown", res.Stopped)
		require.Equal(t, harness.Unknown, res.Verdict())
		require.Equal(t, 1, res.Schedules)
		require.Zero(t, res.Steps)
	})
}

func TestAClientThatBlocks(t *testing.T) {
	for _, c := range []struct {
		sent int
		want string
	}{
		{0, "client 2 neither sent a command nor finished within 2s: it never sent any"},
		{1, "client 2 neither sent a command nor finished within 2s: it may wait for something else than a reply"},
	} {
		leavesNothing(t, func() {
			forever := make(chan struct{})
			defer close(forever) // it is the one goroutine that would stay
			blocks := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
				writesTo("k", c.sent)(ctx, s, r)
				<-forever
			}
			s := quiet(program(writesTo("k", 3), blocks))
			s.Clients = 3 // two that block
			res, err := searchSoon(t, s)
			require.NoError(t, err)
			require.Equal(t, c.want, res.Stopped)
			require.Equal(t, harness.Unknown, res.Verdict())
		})
	}
}

func TestAClientThatTriesForEver(t *testing.T) {
	var over atomic.Bool
	stubborn := func(ctx context.Context, _ *harness.Session, r redis.UniversalClient) {
		for range 600 { // more than a schedule has steps
			if over.Load() || r.Get(ctx, "lock").Err() == nil {
				return
			}
			time.Sleep(time.Millisecond) // what the explorer notices of it is in the reason below
		}
	}
	polite := func(ctx context.Context, _ *harness.Session, r redis.UniversalClient) {
		for {
			if _, err := r.Get(ctx, "lock").Result(); err != nil && err != redis.Nil {
				return
			}
		}
	}
	for _, c := range []client{polite, stubborn} {
		leavesNothing(t, func() {
			s := quiet(program(c, writesTo("k", 1)))
			over.Store(false)
			res, err := searchSoon(t, s)
			over.Store(true)
			require.NoError(t, err)
			require.False(t, res.Exhausted)
			stopped, _, _ := strings.Cut(res.Stopped, " (it does something by itself: time.Sleep at bad_test.go:") // if it slept just then
			require.Equal(t, "a schedule of 400 steps does not end: the last command was client 1's GET lock: does a client try for ever?", stopped)
		})
	}
}

// searchOfFickle searches schedules of a steady client, and of one that does what second says the given time that it is opened, from 1.
func searchOfFickle(t *testing.T, second func(times int) client) interleave.Result {
	t.Helper()
	var times atomic.Int64
	p := program(writesTo("k", 4))
	steady := p.Open
	p.Open = func(i int, r redis.UniversalClient) harness.Client {
		if i == 1 {
			return opened{second(int(times.Add(1))), r}
		}
		return steady(i, r)
	}
	s := quiet(p)
	s.Unreduced = true
	res, err := searchSoon(t, s)
	require.NoError(t, err)
	return res
}

// A client that is done where it had a step to take before cannot be replayed.
func TestAClientThatIsNotTheSameEachTime(t *testing.T) {
	leavesNothing(t, func() {
		res := searchOfFickle(t, func(times int) client {
			if times > 4 { // each schedule may be run twice: to learn it, and to compare
				return writesTo("k", 1)
			}
			return writesTo("k", 4)
		})
		require.Equal(t, "a client does not do the same each time: client 2 is done where it had a step to take before"+remedyInside, res.Stopped)
		require.Equal(t, harness.Unknown, res.Verdict())
	})
}

// A client that sends another command where all was the same before is refused with both commands.
func TestAClientThatSendsAnotherCommandIsNamed(t *testing.T) {
	leavesNothing(t, func() {
		res := searchOfFickle(t, func(times int) client { return writesTo(fmt.Sprintf("k%d", times/5), 4) })
		require.Contains(t, res.Stopped, "client 2 sent ")
		require.Contains(t, res.Stopped, " k1")
		require.Contains(t, res.Stopped, " k0")
		require.Contains(t, res.Stopped, " when all was the same before"+remedyInside)
		require.Equal(t, harness.Unknown, res.Verdict())
	})
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
	} {
		s := good
		spoil(&s)
		_, err := Search(t.Context(), s)
		require.ErrorIs(t, err, ErrSpec, want)
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, Replay(t.Context(), s, interleave.Counterexample{}, 1), ErrSpec, want)
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

// A Redis that cannot be started, or dies, is a failure of the harness.
func TestRedisThatFails(t *testing.T) {
	s := quiet(program(writesTo("k", 1)))
	s.Redis = "/nowhere/redis-server"
	_, err := searchSoon(t, s)
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrSpec)
	leavesNothing(t, func() {
		killer := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
			op(s, "shutdown", func() (string, error) { return "", r.Do(ctx, "SHUTDOWN", "NOSAVE").Err() })
		}
		_, err := searchSoon(t, quiet(program(killer, writesTo("k", 3))))
		require.Error(t, err)
		require.NotErrorIs(t, err, errStopped)
		require.Contains(t, fmt.Sprint(err), "Redis")
	})
}

// A program that starts goroutines without end is stopped with one line.
func TestAClientThatStartsThreadsForEver(t *testing.T) {
	leavesNothing(t, func() {
		starts := func(ctx context.Context, _ *harness.Session, r redis.UniversalClient) {
			for {
				harness.Go(ctx, func(ctx context.Context) { _ = r.Get(ctx, "k").Err() })
			}
		}
		res, err := searchSoon(t, quiet(program(starts, writesTo("k", 1))))
		require.NoError(t, err)
		require.Equal(t, "client 1 has started 31 goroutines and subscriptions in one schedule, and more are not explored: does it start some without end?", res.Stopped)
	})
}

// A goroutine that never ends its turn is named, and one that the explorer does not know may not read a subscription.
func TestAThreadThatNeverEndsItsTurn(t *testing.T) {
	t.Parallel()
	forever := make(chan struct{})
	defer close(forever)
	stuck := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		harness.Go(ctx, func(context.Context) { <-forever })
		writesTo("k", 1)(ctx, s, r)
	}
	res, err := searchSoon(t, quiet(program(stuck, idle)))
	require.NoError(t, err)
	require.Contains(t, res.Stopped, "client 1's thread 2 neither sent a command nor finished within 2s")

	reads := func(ctx context.Context, _ *harness.Session, r redis.UniversalClient) {
		sub := r.Subscribe(ctx, "done")
		defer func() { _ = sub.Close() }()
		select {
		case <-sub.Channel():
		case <-forever:
		}
	}
	res, err = searchSoon(t, quiet(program(reads, idle)))
	require.NoError(t, err)
	require.Contains(t, res.Stopped, "client 1 reads its subscription in a goroutine that the explorer does not know")
}
