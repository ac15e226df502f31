package explore

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// toy is a program without Redis: each actor has so many steps. Until all are done time can pass, if the budget has an expiry, to one
// of two ends of leases.
type toy struct {
	steps  []int
	budget interleave.Budget
}

func (y toy) length() (n int) {
	for _, s := range y.steps {
		n += s
	}
	return n + y.budget.Expiries
}

// run runs one schedule that is drawn at random.
func (y toy) run(rng *rand.Rand, depth int, inOrder bool) (path []interleave.Choice) {
	p := drawPCT(rng, depth, y.length(), y.budget, inOrder)
	left, expiries := slices.Clone(y.steps), y.budget.Expiries
	for {
		var moves []move
		for i, n := range left {
			if n > 0 {
				moves = append(moves, move{choice: interleave.Run(i)})
			}
		}
		if len(moves) == 0 {
			return path
		}
		if expiries > 0 {
			moves = append(moves, move{choice: interleave.Pass(0)}, move{choice: interleave.Pass(1)})
		}
		c := p.pick(moves, len(path), func(interleave.Choice) bool { return true })
		path = append(path, c)
		if i, ok := c.Client(); ok {
			left[i]--
		} else {
			expiries--
		}
		p.took(c, len(path))
	}
}

// contains makes a bug that a schedule shows if, of all that happens to those who are in order, it has exactly that.
func contains(order ...interleave.Choice) func([]interleave.Choice) bool {
	return func(path []interleave.Choice) bool {
		own := slices.DeleteFunc(slices.Clone(path), func(c interleave.Choice) bool { return !slices.Contains(order, c) })
		return slices.Equal(own, order)
	}
}

// The theorem: a bug of depth d among n actors with k steps together is found with a probability of at least 1/(n*k^(d-1)).
func TestBugsAreFoundAsOftenAsPCTPromises(t *testing.T) {
	a, b, c := interleave.Run(0), interleave.Run(1), interleave.Run(2)
	expiry := interleave.Budget{Expiries: 1}
	for name, e := range map[string]struct {
		toy    toy
		depth  int // that is asked for
		faults int // that the bug needs
		bug    func([]interleave.Choice) bool
	}{
		"depth 1: the last before the first":       {toy{steps: []int{1, 1, 1, 4}}, 1, 0, contains(b, a)},
		"depth 2: within the other":                {toy{steps: []int{2, 1, 3, 3}}, 2, 0, contains(a, b, a)},
		"depth 2 with more falls than it needs":    {toy{steps: []int{2, 1, 3, 3}}, 3, 0, contains(a, b, a)},
		"depth 3: to and fro":                      {toy{steps: []int{2, 2, 3}}, 3, 0, contains(a, b, a, b)},
		"depth 4: to and fro again":                {toy{steps: []int{3, 2, 1}}, 4, 0, contains(a, b, a, b, a)},
		"depth 3: three in a ring":                 {toy{steps: []int{2, 1, 1, 2}}, 3, 0, contains(a, b, c, a)},
		"depth 2 without the fault that may come":  {toy{[]int{2, 1, 2}, expiry}, 2, 0, contains(a, b, a)},
		"an expiry within, and the right one":      {toy{[]int{2, 1, 2}, expiry}, 1, 1, contains(a, interleave.Pass(1), a)},
		"depth 2 and an expiry, the right one too": {toy{[]int{2, 1, 2}, expiry}, 2, 1, contains(a, b, interleave.Pass(1), a)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const runs = 15_000
			rng := rand.New(rand.NewPCG(1, 2))
			hits := 0
			for range runs {
				if e.bug(e.toy.run(rng, e.depth, false)) {
					hits++
				}
			}
			promise := interleave.Random{
				Depth: e.depth, Clients: len(e.toy.steps), Steps: e.toy.length(), Faults: e.toy.budget.Expiries, Instants: 2,
			}.Promise()
			p := promise.Probability
			if e.faults > 0 {
				p = promise.WithFault
			}
			got := float64(hits) / runs
			require.GreaterOrEqual(t, got, p-4*math.Sqrt(p/runs), "of %d", runs)
			t.Logf("%.5f, promised %.5f", got, p)
		})
	}
}

// Nobody falls without a place to fall at, so that a bug that needs one is never found.
func TestABugDeeperThanAskedForNeedsLuck(t *testing.T) {
	y := toy{steps: []int{2, 2, 1}}
	deep := contains(interleave.Run(0), interleave.Run(1), interleave.Run(0), interleave.Run(1))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		require.False(t, deep(y.run(rng, 1, false)))
		require.False(t, deep(y.run(rng, 2, false)))
	}
}

// Actors that stand for each other begin in their order: the first of those that have not begun is the only one that may.
func TestActorsThatStandForEachOtherBeginInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		path := toy{steps: []int{2, 2, 2, 2}}.run(rng, 3, true)
		next := 0
		for _, c := range path {
			i, _ := c.Client()
			require.LessOrEqual(t, i, next)
			next = max(next, i+1)
		}
	}
}

func TestNothingGoesWrongWhileNothingIsKnown(t *testing.T) {
	p := drawPCT(rand.New(rand.NewPCG(1, 1)), 5, 0, interleave.Budget{Clients: 2, Crashes: 9}, false)
	require.Empty(t, p.falls)
	require.Empty(t, p.faults)
}

// What needs another after it gets a place for both, in that order.
func TestFaultsOfTwoPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	both := 0
	for range 200 {
		p := drawPCT(rng, 1, 20, interleave.Budget{Clients: 2, Failovers: 1, Late: 1, Crashes: 1}, false)
		require.True(t, slices.IsSortedFunc(p.faults, func(a, b placedFault) int { return a.place - b.place }))
		for first, then := range follows {
			i := slices.IndexFunc(p.faults, func(f placedFault) bool { return f.kind == first })
			j := slices.IndexFunc(p.faults, func(f placedFault) bool { return f.kind == then })
			require.Equal(t, i < 0, j < 0)
			if i >= 0 {
				both++
				require.LessOrEqual(t, p.faults[i].place, p.faults[j].place)
			}
		}
	}
	require.Positive(t, both)
}

// What happens to a command happens to that of the actor whose turn it is.
func TestAnswersAreLostToTheActorWhoseTurnItIs(t *testing.T) {
	for kind, to := range map[faultKind]func(int) interleave.Choice{
		losesAnswer: interleave.LoseAnswer, losesCommand: interleave.LoseCommand, delays: interleave.Delay,
	} {
		for seed := range uint64(20) {
			p := drawPCT(rand.New(rand.NewPCG(seed, 1)), 1, 0, interleave.Budget{}, false)
			moves := []move{{choice: interleave.Run(0)}, {choice: interleave.Run(1)}, {choice: to(0)}, {choice: to(1)}}
			next, _ := p.highest(moves)
			p.faults = []placedFault{{kind, 3}}
			require.Equal(t, next, p.pick(moves, 2, nil), "its place is not reached")
			require.Equal(t, to(next.Number()), p.pick(moves, 3, nil))
			require.Equal(t, next, p.pick(moves, 4, nil), "it has happened")
		}
	}
}
