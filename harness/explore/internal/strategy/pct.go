package strategy

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// pct is probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler
// with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010. Each actor has a priority drawn at random, and of those
// that can take a step the one with the highest does. At depth-1 steps drawn at random, the actor that took the step
// falls below all others.
type pct struct {
	rng      *rand.Rand
	priority map[int]float64 // of each actor: 0 or more as drawn, negative when it has fallen
	// clients that stand for each other: their first threads get their priorities in order, the highest first; 0: none
	// do
	inOrder int
	falls   []int // falls[i]: the number of steps after which an actor falls to the priority -1-i
}

// drawPCT draws the places at which actors fall: none while the length of schedules is not known.
func drawPCT(rng *rand.Rand, shape Shape) sampler {
	p := &pct{rng: rng, priority: map[int]float64{}}
	if shape.InOrder {
		p.inOrder = shape.Budget.Clients
	}
	for range shape.Depth - 1 {
		if shape.Steps > 0 {
			p.falls = append(p.falls, 1+rng.IntN(shape.Steps))
		}
	}
	return p
}

// pick returns the step of the actor with the highest priority.
func (p *pct) pick(steps []schedule.Move) (best interleave.Choice) {
	top := 0.0
	for i, m := range steps {
		actor, _ := actorOf(m.Choice)
		if own := p.priorityOf(actor); i == 0 || own > top {
			best, top = m.Choice, own
		}
	}
	return best
}

// priorityOf returns the priority of an actor, and draws it when the actor is seen for the first time.
func (p *pct) priorityOf(actor int) float64 {
	if own, known := p.priority[actor]; known {
		return own
	}
	drawn := p.rng.Float64()
	switch {
	case p.inOrder == 0:
		p.priority[actor] = drawn
	case actor < interleave.MaxPerKind: // its client's first thread
		p.priority[actor] = 1 / float64(1+actor)
	default:
		p.priority[actor] = amongOrdered(drawn, p.inOrder)
	}
	return p.priority[actor]
}

// amongOrdered returns a priority among 1, 1/2, ..., 1/n: above all of them, between two, or below all, each as likely.
// drawn is 0 to 1.
func amongOrdered(drawn float64, n int) float64 {
	place, within := math.Modf(drawn * float64(n+1))
	highest, lowest := 2.0, 1/(place+1)
	if place > 0 {
		highest = 1 / place
	}
	return lowest + within*(highest-lowest)
}

// took lets the actor that took a step fall, if it is the place for that. A place at which something else happens, and
// the second of two that are the same, has no effect: the bound counts such draws as misses.
func (p *pct) took(did schedule.Move, number int, _ []schedule.Move) {
	actor, ok := actorOf(did.Choice)
	if i := slices.Index(p.falls, number); ok && i >= 0 {
		p.priority[actor] = float64(-1 - i)
	}
}
