package strategy

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// pct is probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler
// with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010. Each actor gets a random priority, and the actor with
// the highest priority that can take a step does. After each of depth-1 random steps, the priority change points, the
// actor that took the step falls below all others.
type pct struct {
	rng      *rand.Rand
	priority map[int]float64 // by actor; 0 or more as drawn, negative after a change point
	// number of interchangeable clients: their first threads get falling priorities, in order; 0: none
	inOrder      int
	changePoints []int // changePoints[i] is the step after which its actor falls to priority -1-i
}

// drawPCT draws the change points. There are none while the length of schedules is unknown.
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

// amongOrdered maps drawn, 0 to 1, to a priority relative to 1, 1/2, ..., 1/n. It is equally likely to be above all,
// between any two, or below all.
func amongOrdered(drawn float64, n int) float64 {
	place, within := math.Modf(drawn * float64(n+1))
	upper, lower := 2.0, 1/(place+1)
	if place > 0 {
		upper = 1 / place
	}
	return lower + within*(upper-lower)
}

// took lowers the actor's priority at a change point. A change point without a client's step has no effect, nor has the
// second of two at one step: the bound counts such draws as misses.
func (p *pct) took(did schedule.Move, number int, _ []schedule.Move) {
	actor, ok := actorOf(did.Choice)
	if i := slices.Index(p.changePoints, number); ok && i >= 0 {
		p.priority[actor] = float64(-1 - i)
	}
}
