package strategy

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }

// odds returns the share of a toy's random schedules that have a bug.
func (y toy) odds(t *testing.T, shape Shape, runs int, bug func([]interleave.Choice) bool) float64 {
	t.Helper()
	shape.Steps, shape.Budget = y.length(), y.budget
	shape.Budget.Clients = len(y.steps)
	rng := random(1)
	hits := 0
	for range runs {
		path, decision, err := y.schedule(t, Draw(rng, shape))
		require.NoError(t, err)
		require.Equal(t, Finish, decision)
		if bug(path) {
			hits++
		}
	}
	return float64(hits) / float64(runs)
}

// contains returns a bug that shows in a schedule with exactly the choices of order, in this order, whatever other
// choices lie between.
func contains(order ...interleave.Choice) func([]interleave.Choice) bool {
	return func(path []interleave.Choice) bool {
		candidate := slices.DeleteFunc(slices.Clone(path), func(c interleave.Choice) bool {
			return !slices.Contains(order, c)
		})
		return slices.Equal(candidate, order)
	}
}

// The theorem: a bug of depth d among n actors with k steps in all is found with a probability of at least
// 1/(n*k^(d-1)).
func TestBugsAreFoundAsOftenAsPCTPromises(t *testing.T) {
	expiry := interleave.Budget{Expiries: 1}
	for name, e := range map[string]struct {
		toy    toy
		depth  int // depth to look for
		faults int // faults that the bug needs
		bug    func([]interleave.Choice) bool
	}{
		"depth 1: the last before the first":    {toy{steps: []int{1, 1, 1, 4}}, 1, 0, contains(b, a)},
		"depth 2: within the other":             {toy{steps: []int{2, 1, 3, 3}}, 2, 0, contains(a, b, a)},
		"depth 2 with more falls than it needs": {toy{steps: []int{2, 1, 3, 3}}, 3, 0, contains(a, b, a)},
		"depth 3: to and fro":                   {toy{steps: []int{2, 2, 3}}, 3, 0, contains(a, b, a, b)},
		"depth 4: to and fro again":             {toy{steps: []int{3, 2, 1}}, 4, 0, contains(a, b, a, b, a)},
		"depth 3: three in a ring":              {toy{steps: []int{2, 1, 1, 2}}, 3, 0, contains(a, b, c, a)},
		"depth 2 without the fault that may come": {toy{steps: []int{2, 1, 2}, budget: expiry},
			2, 0, contains(a, b, a)},
		"an expiry within, and the right one": {toy{steps: []int{2, 1, 2}, budget: expiry}, 1, 1,
			contains(a, interleave.Pass(1), a)},
		"depth 2 and an expiry, the right one too": {toy{steps: []int{2, 1, 2}, budget: expiry}, 2, 1,
			contains(a, b, interleave.Pass(1), a)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const runs = 15_000
			promise := interleave.Random{
				Depth: e.depth, Clients: len(e.toy.steps), Steps: e.toy.length(),
				Faults: e.toy.budget.Expiries, Instants: 2,
			}.Promise()
			p := promise.Probability
			if e.faults > 0 {
				p = promise.WithFault
			}
			got := e.toy.odds(t, Shape{Depth: e.depth}, runs, e.bug)
			require.GreaterOrEqual(t, got, p-4*math.Sqrt(p/runs), "of %d", runs)
			t.Logf("%.5f, promised %.5f", got, p)
		})
	}
}

// Steps that depend on the previous one get new priorities, others do not.
func TestOddsOfPartialOrderSampling(t *testing.T) {
	for name, e := range map[string]struct {
		toy  toy
		bug  func([]interleave.Choice) bool
		want float64
	}{
		"within the other":   {toy{steps: []int{2, 1}}, contains(a, b, a), 1.0 / 4},
		"to and fro again":   {toy{steps: []int{3, 2}}, contains(a, b, a, b, a), 1.0 / 16},
		"one order of three": {toy{steps: []int{1, 1, 1}}, contains(b, c, a), 1.0 / 6},
		"after five steps that it never meets": {toy{steps: []int{5, 1}, keys: []string{"a", "b"}},
			contains(a, a, a, a, a, b), 1.0 / 6},
		"after five steps that it meets": {toy{steps: []int{5, 1}}, contains(a, a, a, a, a, b), 1.0 / 32},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const runs = 20_000
			got := e.toy.odds(t, Shape{Strategy: "pos"}, runs, e.bug)
			require.InDelta(t, e.want, got, 4*math.Sqrt(e.want*(1-e.want)/runs))
		})
	}
}

// A bug that shows only after an actor's priority falls is never found without change points, at which priorities fall.
func TestABugDeeperThanAskedForNeedsLuck(t *testing.T) {
	y := toy{steps: []int{2, 2, 1}}
	for depth := 1; depth <= 2; depth++ {
		require.Zero(t, y.odds(t, Shape{Depth: depth}, 2000, contains(a, b, a, b)))
	}
}

// Interchangeable actors begin in order: only the first that has not begun may begin.
func TestActorsThatStandForEachOtherBeginInOrder(t *testing.T) {
	y := toy{steps: []int{2, 2, 2, 2}}
	y.odds(t, Shape{Depth: 3, InOrder: true}, 100, func(path []interleave.Choice) bool {
		next := 0
		for _, c := range path {
			i, _ := c.Client()
			require.LessOrEqual(t, i, next)
			next = max(next, i+1)
		}
		return false
	})
}

func TestNothingGoesWrongWhileNothingIsKnown(t *testing.T) {
	for _, name := range Names() {
		r := Draw(random(1), Shape{Strategy: name, Depth: 5, Budget: interleave.Budget{Clients: 2, Crashes: 9}})
		require.Empty(t, r.faults)
		if p, ok := r.sampler.(*pct); ok {
			require.Empty(t, p.changePoints)
		}
	}
}

// A fault that happens in two halves, such as a failover, gets a place for each half, in that order.
func TestFaultsOfTwoPlaces(t *testing.T) {
	rng := random(1)
	both := 0
	for range 200 {
		faults := drawFaults(rng, 20, interleave.Budget{Clients: 2, Failovers: 1, Late: 1, Crashes: 1})
		require.True(t, slices.IsSortedFunc(faults, func(a, b placedFault) int { return a.place - b.place }))
		for first, then := range completes {
			i := slices.IndexFunc(faults, func(f placedFault) bool { return f.kind == first })
			j := slices.IndexFunc(faults, func(f placedFault) bool { return f.kind == then })
			require.Equal(t, i < 0, j < 0)
			if i >= 0 {
				both++
				require.LessOrEqual(t, faults[i].place, faults[j].place)
			}
		}
	}
	require.Positive(t, both)
}

// faultsOf lists as many faults as the budget allows.
func TestFaultsOfABudget(t *testing.T) {
	for _, b := range []interleave.Budget{
		{}, {Crashes: 1, Expiries: 2, Approaches: 3, Failovers: 1, Flushes: 1, LostAnswers: 2,
			LostCommands: 1, Late: 2},
	} {
		require.Len(t, faultsOf(b), b.Faults())
	}
}

// If an answer or a command gets lost, or a command is late, it is that of the actor whose turn it is.
func TestAnswersAreLostToTheActorWhoseTurnItIs(t *testing.T) {
	for kind, to := range map[faultKind]func(int) interleave.Choice{
		losesAnswer: interleave.LoseAnswer, losesCommand: interleave.LoseCommand, delays: interleave.Delay,
	} {
		moves := []schedule.Move{{Choice: a}, {Choice: b}, {Choice: to(0)}, {Choice: to(1)}}
		for seed := range uint64(20) {
			r := Draw(random(seed), Shape{Depth: 1})
			next := r.choose(moves, nil)
			r.faults, r.taken = []placedFault{{kind, 3}}, 2
			require.Equal(t, next, r.choose(moves, nil), "its place is not reached")
			r.taken = 3
			require.Equal(t, to(next.Number()), r.choose(moves, nil))
			require.Equal(t, next, r.choose(moves, nil), "it has happened")
		}
	}
}

// A thread beside interchangeable clients is equally likely to come before all, between any two or after all of them.
func TestThreadsAmongClientsInOrder(t *testing.T) {
	const clients, runs = 3, 8000
	places := make([]int, clients+1)
	for seed := range uint64(runs) {
		s := drawPCT(random(seed), Shape{Depth: 1, InOrder: true, Budget: interleave.Budget{Clients: clients}})
		moves := []schedule.Move{{Choice: interleave.Run(0).Of(1)}, {Choice: a}, {Choice: b}, {Choice: c}}
		before := 0
		for s.pick(moves).Thread() == 0 {
			first := s.pick(moves)
			require.Equal(t, interleave.Run(before), first, "clients are in order")
			moves = slices.DeleteFunc(moves, func(m schedule.Move) bool { return m.Choice == first })
			before++
		}
		places[before]++
	}
	for place, n := range places {
		require.InDelta(t, runs/(clients+1), n, 4*math.Sqrt(runs/(clients+1)), "place %d: %v", place, places)
	}
}

// Of two threads beside interchangeable clients, each is equally likely to be first.
func TestThreadsAmongClientsAreInNoOrder(t *testing.T) {
	const runs = 8000
	moves := []schedule.Move{{Choice: interleave.Run(0).Of(1)}, {Choice: interleave.Run(1).Of(1)}}
	first := 0
	for seed := range uint64(runs) {
		s := drawPCT(random(seed), Shape{Depth: 1, InOrder: true, Budget: interleave.Budget{Clients: 3}})
		if s.pick(moves) == moves[0].Choice {
			first++
		}
	}
	require.InDelta(t, runs/2, first, 4*math.Sqrt(runs)/2)
}

// An actor falls below all that have not fallen, and each change point has its own priority.
func TestAnActorFallsBelowTheOthers(t *testing.T) {
	moves := []schedule.Move{{Choice: a}, {Choice: b}, {Choice: c}}
	p := &pct{rng: random(1), priority: map[int]float64{0: 0.9, 1: 0.8, 2: 0}, changePoints: []int{3, 2, 1}}
	for number, want := range []interleave.Choice{a, b, c} {
		require.Equal(t, want, p.pick(moves))
		p.took(schedule.Move{Choice: want}, number+1, moves)
	}
	require.Equal(t, c, p.pick(moves), "who fell last fell to the highest")
	p.took(schedule.Move{Choice: interleave.Crash(2)}, 3, moves)
	require.Equal(t, c, p.pick(moves), "a crash is no step of an actor")
}

func TestOnlyPCTPromises(t *testing.T) {
	for name, want := range map[string]bool{"": true, "pct": true, "pos": false, "nobody's": false} {
		require.Equal(t, want, Promises(name), name)
	}
}

// Each kind of fault is caused only by its own choice.
func TestTheChoicesOfAFault(t *testing.T) {
	instants := []schedule.Instant{{Choice: interleave.Pass(0), BeyondEnd: true}, {Choice: interleave.Pass(1)}}
	owns := map[faultKind][]interleave.Choice{
		crashes: {interleave.Crash(0), interleave.Crash(1)}, passesBeyond: {interleave.Pass(0)},
		passesToLast:     {interleave.Pass(1)},
		stopsReplication: {interleave.StopReplication}, promotes: {interleave.Promote},
		flushesScripts: {interleave.FlushScripts},
		losesAnswer:    {interleave.LoseAnswer(0)}, losesCommand: {interleave.LoseCommand(0)},
		delays: {interleave.Delay(0)},
		slows:  {interleave.Slow(0)}, arrives: {interleave.Arrive(0), interleave.Arrive(1)},
	}
	all := []interleave.Choice{
		a, b, interleave.LoseAnswer(1), interleave.LoseCommand(1), interleave.Delay(1), interleave.Slow(1),
		interleave.Slow(0).Of(1), interleave.Pass(2),
	}
	for _, candidate := range owns {
		all = append(all, candidate...)
	}
	for kind, candidate := range owns {
		for _, choice := range all {
			require.Equal(t, slices.Contains(candidate, choice), kind.matches(choice, a, instants),
				"fault %d, %v", kind, choice)
		}
	}
}

// A fault that is not possible yet waits, and does not delay any actor.
func TestAFaultWaitsUntilItCanHappen(t *testing.T) {
	r := Draw(random(1), Shape{Depth: 1})
	r.faults = []placedFault{{crashes, 0}}
	require.Equal(t, a, r.choose([]schedule.Move{{Choice: a}}, nil))
	require.Equal(t, interleave.Crash(0), r.choose([]schedule.Move{{Choice: a}, {Choice: interleave.Crash(0)}}, nil))
	require.Equal(t, interleave.Arrive(3), r.choose([]schedule.Move{{Choice: interleave.Arrive(3)}}, nil),
		"all that is left is a late command")
}

// Instants are read only if time can pass.
func TestInstantsAreAskedForWhereTimeCanPass(t *testing.T) {
	for moves, want := range map[*movesOnly]int{
		{moves: []schedule.Move{{Choice: a}, {Choice: interleave.Crash(0)}}}: 0,
		{moves: []schedule.Move{{Choice: a}, {Choice: interleave.Pass(0)}}}:  1,
	} {
		_, _, err := Draw(random(1), Shape{}).Next(moves)
		require.NoError(t, err)
		require.Equal(t, want, moves.asked)
	}
	unknown := &movesOnly{moves: []schedule.Move{{Choice: interleave.Pass(0)}}, err: errors.New("no clock")}
	_, _, err := Draw(random(1), Shape{}).Next(unknown)
	require.ErrorIs(t, err, unknown.err)
}

// movesOnly is a schedule with given moves. It counts how often its instants are read.
type movesOnly struct {
	toyView
	moves []schedule.Move
	asked int
	err   error
}

func (m *movesOnly) Moves() ([]schedule.Move, error) { return m.moves, nil }

func (m *movesOnly) Instants() ([]schedule.Instant, error) {
	m.asked++
	return nil, m.err
}

// Random.Actors counts the actors with a step. Random.Instants is the most instants of one kind of fault at one moment.
func TestWhatAPromiseIsMadeOf(t *testing.T) {
	r := Draw(random(1), Shape{Depth: 1})
	moves := []schedule.Move{{Choice: a}, {Choice: interleave.Crash(1)}, {Choice: interleave.Run(0).Of(1)}}
	of := func(beyond, last int) (all []schedule.Instant) {
		for range beyond {
			all = append(all, schedule.Instant{BeyondEnd: true})
		}
		return append(all, make([]schedule.Instant, last)...)
	}
	for _, at := range []struct{ beyond, last, want int }{{2, 1, 2}, {1, 3, 3}, {1, 1, 3}, {4, 0, 4}} {
		r.note(moves, of(at.beyond, at.last))
		require.Equal(t, at.want, r.Instants)
	}
	require.Equal(t, 2, r.Actors, "a crash is none")
	require.Len(t, r.steps, 2)
}
