package strategy

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// pct is probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler
// with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010.
//
// Each actor gets a random priority. The actor with the highest priority, of those that can take a step, takes it.
// After each of depth-1 random steps, the priority change points, the actor that took the step falls below all others.
// With n actors and at most k steps, a schedule shows a bug of depth d with a probability of at least 1/(n*k^(d-1)).
// interleave.Random has the bound with faults, which are drawn apart (faults.go).
//
// It differs from the paper in three ways. Actors are not known in advance, so each draws its priority when it is first
// able to take a step. k is the length of the longest schedule of earlier rounds, and there are no change points while
// it is unknown. Interchangeable clients begin in one order only, so their priorities are not drawn.
//
// Random calls pct.pick before each move, and pct.took after it.
type pct struct {
	rng *rand.Rand

	// priority by actor. Priorities differ: those drawn are at least 0, and the actor of change point i has -1-i.
	priority map[int]float64

	// inOrder is the number of interchangeable clients; 0: none. Their first threads have the priorities 1, 1/2, 1/3
	// and so on, in the order of the clients.
	inOrder int

	// changePoints[i] is the number of a move, from 1. The actor that makes this move falls to priority -1-i. There are
	// depth-1 change points, or none.
	changePoints []int
}

// drawPCT draws the change points.
func drawPCT(rng *rand.Rand, shape Shape) sampler {
	p := &pct{rng: rng, priority: map[int]float64{}}
	if shape.InOrder {
		p.inOrder = shape.Budget.Clients
	}
	for range shape.Depth - 1 {
		if shape.Steps > 0 {
			p.changePoints = append(p.changePoints, 1+rng.IntN(shape.Steps))
		}
	}
	return p
}

// pick returns the step of the actor with the highest priority.
func (p *pct) pick(steps []schedule.Move) (best interleave.Choice) {
	highest := 0.0
	for i, m := range steps {
		actor, _ := actorOf(m.Choice)
		if candidate := p.priorityOf(actor); i == 0 || candidate > highest {
			best, highest = m.Choice, candidate
		}
	}
	return best
}

// priorityOf returns an actor's priority. It is drawn on the first call.
func (p *pct) priorityOf(actor int) float64 {
	if priority, known := p.priority[actor]; known {
		return priority
	}
	drawn := p.rng.Float64()
	switch {
	case p.inOrder == 0:
		p.priority[actor] = drawn
	case actor < interleave.MaxPerKind: // first thread of a client
		p.priority[actor] = 1 / float64(1+actor)
	default:
		p.priority[actor] = amongOrdered(drawn, p.inOrder)
	}
	return p.priority[actor]
}

// amongOrdered returns a priority for an actor beside n clients with the priorities 1, 1/2, ..., 1/n. The parameter
// drawn is a random number between 0 and 1. The result is equally likely to be above all of these, between any two
// neighbours, or below all.
func amongOrdered(drawn float64, n int) float64 {
	place, within := math.Modf(drawn * float64(n+1))
	upper, lower := 2.0, 1/(place+1)
	if place > 0 {
		upper = 1 / place
	}
	return lower + within*(upper-lower)
}

// took lowers the actor's priority at a change point. A change point has no effect if its move is not a client's step,
// or if an earlier change point has the same number. The promised probability allows for that: it counts such schedules
// as misses.
func (p *pct) took(did schedule.Move, number int, _ []schedule.Move) {
	actor, ok := actorOf(did.Choice)
	if i := slices.Index(p.changePoints, number); ok && i >= 0 {
		p.priority[actor] = float64(-1 - i)
	}
}
