package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// plantedDeep returns a program with a bug of depth 4. Client 1 sees it if its three reads come before, between and
// after the two writes of client 2. Every other client has one command that does not matter.
func plantedDeep(clients int) Spec {
	s := quiet(program(together("GET x", "GET x", "GET x"), together("SET x 1", "SET x 2"),
		sends("INCR other")), seesBoth)
	s.Clients, s.Workers = clients, 2
	return s
}

var seesBoth = finder(func(op harness.Op) bool { return op.Result == "(nil) 1 2" })

// With 8 clients and 11 steps in all, PCT promises to find the bug within 49,034 schedules, with a probability of 99 %.
func TestLongADeepBugIsFoundAtRandomAmongEightClients(t *testing.T) {
	testenv.NeedLong(t)
	exhaustive := searched(t, plantedDeep(2)).Counterexamples[0]
	for name, random := range map[string]Random{
		"pct": {Schedules: 49_034, Depth: 4, Seed: 1},
		"pos": {Schedules: 500, Strategy: "pos", Seed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantedDeep(8)
			s.First, s.Random = true, &random
			res := resultOf(t, s)
			require.Len(t, res.Counterexamples, 1)
			c := res.Counterexamples[0]
			require.Equal(t, exhaustive.Schedule, c.Schedule)
			require.Equal(t, interleave.Budget{Clients: 2}, c.Budget)
			require.Equal(t, 8, c.Shrunk.Clients)
			require.NoError(t, Replay(t.Context(), s, c, 2))
			t.Logf("found after %d schedules", c.Shrunk.Schedule)
			if name == "pct" {
				require.InDelta(t, 49_034, res.Random.Needed, 0.5)
				return
			}
			require.Equal(t, "pos", res.Random.Strategy)
			require.Zero(t, res.Random.Needed, "nothing is promised")
		})
	}
}

func TestASearchAtRandomThatFindsNothingIsUnknown(t *testing.T) {
	s := plantedDeep(8)
	s.Checkers, s.Random = []harness.Checker{&collector{}}, &Random{Schedules: 300, Depth: 2, Seed: 7}
	res := resultOf(t, s)
	require.Equal(t, harness.Unknown, res.Verdict())
	require.Equal(t, interleave.DrawnAtRandom, res.Stopped)
	require.Equal(t, 300, res.Schedules)
	require.Len(t, res.Parts, 1)
	require.True(t, res.Parts[0].AtRandom)
	r := res.Random
	require.Equal(t, []any{uint64(7), 2, 300, 299, 8, 11, 0},
		[]any{r.Seed, r.Depth, r.Schedules, r.Counted, r.Clients, r.Steps, r.Faults}, "the first alone measures")
	require.InDelta(t, 1.0/88, r.Probability, 1e-9)
}

// The seed alone decides what is drawn, however many workers there are and whichever is faster.
func TestRacedTheSeedDecidesWhatIsDrawn(t *testing.T) {
	draws := func(seed uint64, workers int) interleave.Result {
		s := quiet(program(together("GET x", "SET x 1 PX 5000"), together("INCR y", "GET x")),
			finder(func(op harness.Op) bool { return op.Result == "(nil) OK" }))
		s.Clients, s.Workers, s.Crashes, s.Expiries, s.LostAnswers = 5, workers, 2, 1, 1
		s.Random = &Random{Schedules: 50, Seed: seed}
		res := resultOf(t, s)
		res.First, res.Elapsed = 0, 0
		return res
	}
	one := draws(1, 1)
	require.NotEmpty(t, one.Counterexamples)
	require.Equal(t, one, draws(1, 2))
	require.NotEqual(t, one.Steps, draws(2, 1).Steps)
	drawn := draws(0, 1)
	require.NotZero(t, drawn.Random.Seed)
	require.Equal(t, drawn, draws(drawn.Random.Seed, 1))
}

// Everything in the budget happens in some schedule.
func TestEveryFaultHappensAtRandom(t *testing.T) {
	s := quiet(program(together("SET x 1 PX 5000", "EVAL redis.call('GET','x') 0", "SET x 2 PX 7000", "DEL x")))
	s.Clients, s.Crashes, s.Expiries, s.LostAnswers, s.LostCommands, s.Late, s.Failovers,
		s.Flushes = 5, 1, 1, 1, 1, 1, 1, 1
	s.Program.Retries, s.Workers = 1, 2
	s.Random = &Random{Schedules: 150, Seed: 1}
	res := resultOf(t, s)
	require.Equal(t, 9, res.Random.Faults, "a slow script is one")
	require.Positive(t, res.Random.WithFault)
	met := map[harness.SituationName]int{}
	for _, situation := range res.Situations {
		met[situation.Name] = situation.Count
	}
	for _, name := range []harness.SituationName{
		harness.ClientCrashed, harness.AnswerLost, harness.CommandLost, harness.CommandLate, harness.ReplicaPromoted,
	} {
		require.Positive(t, met[name], "%s: %v", name, met)
	}
}

// With more clients and only a time limit, all schedules of fewer clients come first.
func TestFewerClientsComeFirstWhereTimeDecides(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := plantedDeep(6)
	s.Random, s.For = &Random{}, 10*time.Minute
	s.OnProgress = func(p Progress) {
		if p.Budget.Clients == 6 && p.Schedules > 100 { // 60 schedules have fewer clients
			cancel()
		}
	}
	res, err := Search(ctx, s)
	require.NoError(t, err)
	require.Len(t, res.Parts, 3)
	for i, clients := range []int{2, 3, 6} {
		require.Equal(t, clients, res.Parts[i].Budget.Clients)
		require.Equal(t, i == 2, res.Parts[i].AtRandom)
		require.Equal(t, i < 2, res.Parts[i].Exhausted)
		require.Positive(t, res.Parts[i].Schedules)
	}
	require.Equal(t, 6, res.Budget.Clients)
	require.Len(t, res.Counterexamples, 1)
	require.Nil(t, res.Counterexamples[0].Shrunk, "it is the smallest already")
	require.Equal(t, 5, res.Counterexamples[0].Length())
}

// A random search first runs schedules of fewer clients, for a limited time. It still ends if it is interrupted or
// fails just when that time is up.
func TestASearchEndsWhileTheTimeForFewerClientsIsUp(t *testing.T) {
	deep := plantedDeep(6)
	deep.Random = &Random{Schedules: 1}
	s := newScheduler(t, deep)
	for name, c := range map[string]struct {
		ends func(*search)
		want string
	}{
		"nothing":     {func(*search) {}, ""},
		"interrupted": {func(se *search) { se.stop("interrupted") }, "interrupted"},
		"it fails":    {func(se *search) { se.fail(errors.New("no room")) }, "no room"},
	} {
		t.Run(name, func(t *testing.T) {
			spec, err := s.spec.withDefaults()
			require.NoError(t, err)
			spec.WithoutMemory = true // so that judging slows the search down
			budget := spec.budgets()[0]
			budget.Clients = 2
			var se *search
			var goOn, judged bool
			for within := time.Millisecond; !judged; within *= 2 { // a busy machine may run no schedule in time
				se = newSearch(&spec)
				var once sync.Once
				spec.Checkers = []harness.Checker{finds(func([]harness.Op, func(harness.Anomaly)) {
					once.Do(func() {
						judged = true
						require.Eventually(t, se.isEnding, time.Minute, time.Millisecond)
						c.ends(se)
					})
				})}
				goOn = se.runPartFor(t.Context(), budget, []*world{s.w}, within)
			}
			require.Equal(t, c.want == "", goOn)
			require.Equal(t, c.want != "", se.isEnding())
			require.False(t, se.parts[0].Exhausted)
			require.Contains(t, []string{se.stopped, fmt.Sprint(se.failure)}, cmp.Or(c.want, "<nil>"))
		})
	}
}

// oddly returns a checker that finds a violation in one of n operations on average. It chooses them by a hash, so any
// kind of schedule may show one.
func oddly(n, seed uint64) finds {
	return finder(func(op harness.Op) bool {
		h := fnv.New64a()
		_, _ = h.Write([]byte(strconv.Itoa(op.Client) + op.Key + op.Result + strconv.FormatUint(seed, 10)))
		return op.Client > 0 && h.Sum64()%n == 0
	})
}

// A shrunk counterexample still shows its class. It is nearly always as short as the shortest one with its clients and
// faults. It always is if the search has finally run every schedule of these.
func TestShrunkCounterexamplesAreTheSmallest(t *testing.T) {
	programs := kind{menu: []string{"GET $k", "SET $k $v", "INCR $k", "DEL $k", "SETNX $k $v", "SET $k $v EX 10"},
		clients: 4, commands: 2}
	var s *scheduler
	tried, alone, runs := 0, 0, 0
	for seed := uint64(1); seed <= 60; seed++ {
		spec, _ := programs.spec(seed, 11)
		spec.Checkers, spec.Random = []harness.Checker{oddly(7, seed)}, &Random{Schedules: 25, Seed: seed}
		spec.Crashes, spec.Expiries, spec.LostAnswers = int(seed%3)-1, int(seed%2)*2-1, int((seed+1)%2)*2-1
		spec, err := spec.withDefaults()
		require.NoError(t, err)
		if s == nil {
			s = newScheduler(t, spec)
		}
		se := newSearch(&spec)
		require.NoError(t, se.run(t.Context(), []*world{s.w}))
		c := se.seen.Counterexamples[harness.DoubleGrant]
		if c == nil || c.Length <= 2 {
			continue
		}
		h := newShrinker(&spec, s.w, c)
		require.NoError(t, h.shrink(t.Context()))
		if h.best.Budget.Clients == c.Budget.Clients {
			require.LessOrEqual(t, h.best.Length, c.Length)
		}
		runs += h.runs

		every := spec
		every.Random, every.MaxSchedules = nil, 500
		all := newSearch(&every)
		all.runPart(t.Context(), h.best.Budget, []*world{s.w})
		require.NoError(t, all.failure)
		if all.isOver() { // too many to compare with
			continue
		}
		tried++
		smallest := all.seen.Counterexamples[harness.DoubleGrant]
		require.NotNil(t, smallest, "seed %d: what is shrunk is a schedule of its budget", seed)
		// a search leaves schedules out, perhaps the shorter of two equivalent ones
		if h.best.Length <= smallest.Length {
			alone++
		}
		all.spec = &spec
		told, err := all.polish(t.Context(), s.w, h)
		require.NoError(t, err)
		require.True(t, told)
		require.LessOrEqual(t, h.best.Length, smallest.Length)
		again, err := h.again(t.Context(), h.best.Budget, h.best.Schedule, harness.DoubleGrant)
		require.NoError(t, err)
		require.Equal(t, h.best.Length, again.Length())
	}
	t.Logf("of %d: %d as short as a search shows, without making it; %d runs each", tried, alone, runs/max(1, tried))
	require.GreaterOrEqual(t, tried, 5)
	require.GreaterOrEqual(t, alone*10, tried*8)
}
