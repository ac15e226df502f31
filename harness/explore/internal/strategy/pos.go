package strategy

import (
	"math/rand/v2"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// pos is partial order sampling: Yuan, Yang and Gu, "Partial Order Aware Concurrency Sampling", CAV 2018. Each step
// that an actor can take has a priority drawn at random, and the one with the highest is taken. Then those steps draw
// anew that could have been taken in its place and are not independent of it. So orders of independent steps are not
// drawn over and over again.
type pos struct {
	rng      *rand.Rand
	priority map[int]float64 // of the next step of each actor; not there: it is still to be drawn
}

func drawPOS(rng *rand.Rand, _ Shape) sampler { return &pos{rng, map[int]float64{}} }

// pick returns the step with the highest priority.
func (p *pos) pick(steps []schedule.Move) (best interleave.Choice) {
	top := -1.0
	for _, m := range steps {
		actor, _ := actorOf(m.Choice)
		if _, drawn := p.priority[actor]; !drawn {
			p.priority[actor] = p.rng.Float64()
		}
		if own := p.priority[actor]; own > top {
			best, top = m.Choice, own
		}
	}
	return best
}

// took lets those steps draw anew that are not independent of what has happened, the next of the same actor among them.
func (p *pos) took(did schedule.Move, _ int, steps []schedule.Move) {
	for _, m := range steps {
		if actor, _ := actorOf(m.Choice); !schedule.Independent(did, m) {
			delete(p.priority, actor)
		}
	}
}
