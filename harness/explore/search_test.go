package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/internal/processes"
)

// writesTo returns a client with n writes to one key, each its own operation.
func writesTo(key string, n int) client {
	return sends(strings.Split(strings.Repeat("INCR "+key+",", n), ",")[:n]...)
}

// together returns a client with one operation, which runs all the commands.
func together(commands ...string) client {
	return does(strings.Join(commands, ", "), func(ctx context.Context, r redis.UniversalClient) (string, error) {
		return performAll(ctx, r, commands)
	})
}

// The number of schedules of small programs is known: two clients of k steps each have (2k choose k) orders.
func TestHowManySchedulesThereAre(t *testing.T) {
	newScheduler(t, quiet(program(idle))) // skips the test if clocks cannot be set
	tx := func(last string) client {
		return does("tx", func(ctx context.Context, r redis.UniversalClient) (string, error) {
			_, err := transaction(ctx, r, []string{"INCR k", last})
			return "", err
		})
	}
	apart := []client{together("INCR a", "INCR a", "INCR a"), together("INCR b", "INCR b", "INCR b")}
	every := func(s *Spec) { s.WithoutReduction = true }
	timeless := func(s *Spec) { s.Program.Timeless, s.Expiries = true, 1 }
	for name, c := range map[string]struct {
		clients           []client
		change            func(*Spec)
		schedules, pruned int // pruned: -1 for any number
	}{
		"each writes the same key: none is left out": {[]client{writesTo("k", 3)}, func(*Spec) {}, 20, 0},
		"each writes a key of its own, unpruned":     {apart, every, 20, 0},
		"the one, then the other, or at once":        {apart, func(*Spec) {}, 3, -1},
		"clients that differ":                        {[]client{writesTo("k", 2)}, func(*Spec) {}, 6, 0},
		"only the first of symmetric clients begins": {[]client{writesTo("k", 2)}, func(s *Spec) {
			s.Program.Symmetric = true
		}, 3, -1},
		"with a skew they differ": {[]client{writesTo("k", 2)}, func(s *Spec) {
			s.Program.Symmetric, s.Skew = true, time.Second
		}, 6, 0},
		"three clients": {[]client{marks}, func(s *Spec) {
			s.Clients, s.WithoutReduction, s.Workers = 3, true, 2
		}, 702, 0},
		"three clients, pruned": {[]client{marks}, func(s *Spec) {
			s.Clients, s.Workers = 3, 2
		}, 31, -1},

		"either may crash after its first command, among two of the other": {[]client{writesTo("k", 2)}, func(s *Spec) {
			s.WithoutReduction, s.Crashes = true, 1
		}, 6 + 2*3, 0},
		"after the first command time passes to its last ms, or " +
			"beyond": {[]client{sends("SET k 1 EX 10")}, func(s *Spec) { s.WithoutReduction, s.Expiries = true, 1 }, 6,
			0},
		"nobody runs scripts: a flush changes nothing": {
			[]client{writesTo("k", 1)}, mayFlush, 2, -1},
		// With a stop H of replication and a promotion P, each order judges A B and H A P B. H A B and A H B show
		// nothing.
		"replication stops, and nobody is promoted": {[]client{writesTo("k", 1)}, func(s *Spec) {
			s.WithoutReduction, s.Failovers = true, 1
		}, 2 * 2, 2 * 2},

		"no lease in a timeless program":   {[]client{sends("INCR k")}, timeless, 2, -1},
		"a lease in a timeless program":    {[]client{sends("SET k 1 EX 10")}, timeless, 6, -1},
		"no lease in a transaction of one": {[]client{tx("PERSIST k")}, timeless, 2, -1},
		"a lease in a transaction of one":  {[]client{tx("EXPIRE k 10")}, timeless, 6, -1},
	} {
		s := quiet(program(c.clients...))
		c.change(&s)
		res := searched(t, s)
		require.Equal(t, c.schedules, res.Schedules, name)
		if c.pruned >= 0 {
			require.Equal(t, c.pruned, res.Pruned, name)
		}
	}
}

// marks is a message filter of two commands: a client that finds no mark sets one.
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

// crossing is a program of two clients with 26 schedules and 14 pruned ones.
func crossing() interleave.Program {
	both := func(key string) client {
		return inTurn(together("INCR "+key, "INCR c"), together("INCR c", "INCR "+key))
	}
	return program(both("a"), both("b"))
}

func TestRacedMaxSchedulesIsExact(t *testing.T) {
	for _, limit := range []int{10, 25} {
		for _, workers := range []int{1, 2} {
			s := quiet(crossing())
			s.MaxSchedules, s.Workers = limit, workers
			res := resultOf(t, s)
			require.Equal(t, limit, res.Schedules, "%d workers", workers)
			require.False(t, res.Exhausted)
			require.Equal(t, fmt.Sprintf("%d schedules were run", limit), res.Stopped)
		}
	}
	s := quiet(program(writesTo("k", 1)))
	s.MaxSchedules = 2 // these are all
	res := searched(t, s)
	require.Equal(t, []int{2, 4}, []int{res.Schedules, res.Steps})
}

func TestASearchThatRunsOutOfTime(t *testing.T) {
	s := quiet(program(writesTo("k", 10)))
	s.WithoutReduction, s.For = true, 50*time.Millisecond
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
	s.WithoutReduction, s.Workers = true, 2
	res, err := Search(ctx, s)
	require.NoError(t, err)
	require.Equal(t, "interrupted", res.Stopped)
	require.False(t, res.Exhausted)
	require.Less(t, res.Schedules, 20_000, "of 184,756: it ends soon after")
}

func TestTheFirstCounterexampleMayEndASearch(t *testing.T) {
	s := quiet(program(marks), finder(func(op harness.Op) bool { return op.Result == "first" })) // every schedule
	s.First, s.WithoutReduction = true, true
	res := resultOf(t, s)
	require.Equal(t, "a counterexample was found", res.Stopped)
	require.False(t, res.Exhausted)
	require.Equal(t, 1, res.Schedules)
	require.Len(t, res.Counterexamples, 1)
	require.NotZero(t, res.First)
	require.LessOrEqual(t, res.First, res.Elapsed)
}

// secondFirst finds clients that are told that they are first although another one was.
var secondFirst = finds(func(ops []harness.Op, found func(harness.Anomaly)) {
	firsts := slices.DeleteFunc(ops, func(op harness.Op) bool { return op.Result != "first" })
	if len(firsts) > 1 {
		a, b := firsts[0], firsts[1]
		found(harness.Anomaly{
			Class: harness.DuplicateDelivery, Key: "msg", Ops: firsts, From: a.Call, To: b.Return,
			Note: fmt.Sprintf("clients %d and %d are both the first", a.Client, b.Client),
		})
	}
})

// The race of GET and SET takes six steps. Any number of workers finds it, with the same order of steps.
func TestRacedTheSmallestCounterexampleIsFound(t *testing.T) {
	var results []interleave.Result
	for _, workers := range []int{1, 2, 2} {
		s := quiet(program(marks), secondFirst)
		s.Clients, s.Crashes, s.Workers = 3, 1, workers
		res := searched(t, s)
		require.Len(t, res.Counterexamples, 1)
		results = append(results, res)
	}
	c := results[0].Counterexamples[0]
	for _, res := range results {
		require.Equal(t, c, res.Counterexamples[0])
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

func TestNothingIsLeftBehind(t *testing.T) {
	s := quiet(program(marks), secondFirst)
	s.Workers, s.Failovers, s.Crashes, s.MaxSchedules = 2, 1, 1, 100
	var once sync.Once
	var running []string
	var found []interleave.Counterexample
	leavesNothing(t, func() {
		s := s
		s.Checkers = append(s.Checkers, finder(func(harness.Op) bool {
			once.Do(func() { running = processes.Children() })
			return false
		}))
		found = resultOf(t, s).Counterexamples
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

func TestRacedProgressCountsUpToWhatTheResultSays(t *testing.T) {
	told := make(chan struct{})
	var once sync.Once
	var ops atomic.Int64
	s := quiet(program(writesTo("k", 5)), finder(func(harness.Op) bool {
		if ops.Add(1) > 400 { // the search waits in the middle until what is planned was reported
			<-told
		}
		return false
	}))
	var all []Progress // without a lock, so that the race detector finds a concurrent or late call
	s.OnProgress = func(p Progress) {
		if all = append(all, p); p.Planned > 0 {
			once.Do(func() { close(told) })
		}
	}
	res := resultOf(t, s)

	last := all[len(all)-1]
	require.Equal(t, Progress{Budget: res.Budget, Part: len(res.Parts), Parts: len(res.Parts), Schedules: res.Schedules,
		Pruned: res.Pruned, Classes: len(res.Counterexamples)}, last)
	require.Greater(t, len(all), 1, "a search of %v tells nothing before its end", res.Elapsed)
	require.Less(t, len(all), int(res.Elapsed/progressEvery)+3)
	for i, p := range all[1:] {
		require.GreaterOrEqual(t, p.Schedules, all[i].Schedules)
	}
}

func TestProgressOfASearchThatEndsEarlyNamesThePartItEndedIn(t *testing.T) {
	s := quiet(program(writesTo("k", 3)))
	s.MaxSchedules = 5
	s.LostAnswers, s.LostCommands, s.Late = 0, 0, 0 // so that there are several parts
	var last Progress
	s.OnProgress = func(p Progress) { last = p }
	res := resultOf(t, s)
	require.Equal(t, 5, last.Schedules)
	require.Equal(t, len(res.Parts), last.Part)
	require.Less(t, last.Part, last.Parts)
}
