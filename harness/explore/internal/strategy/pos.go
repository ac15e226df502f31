package strategy

import (
	"math/rand/v2"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// pos is partial order sampling: Yuan, Yang and Gu, "Partial Order Aware Concurrency Sampling", CAV 2018. Each possible
// step has a random priority, and the step with the highest one is taken. Other possible steps that are not independent
// of it then get new priorities. So pos does not keep drawing equivalent orders of independent steps.
type pos struct {
	rng      *rand.Rand
	priority map[int]float64 // by actor: priority of its next step; missing: not drawn yet
}

func drawPOS(rng *rand.Rand, _ Shape) sampler { return &pos{rng, map[int]float64{}} }

// pick returns the step with the highest priority.
func (p *pos) pick(steps []schedule.Move) (best interleave.Choice) {
	highest := -1.0
	for _, m := range steps {
		actor, _ := actorOf(m.Choice)
		if _, drawn := p.priority[actor]; !drawn {
			p.priority[actor] = p.rng.Float64()
		}
		if candidate := p.priority[actor]; candidate > highest {
			best, highest = m.Choice, candidate
		}
	}
	return best
}

// took drops the priorities of steps that are not independent of what has happened, including the actor's own next
// step.
func (p *pos) took(did schedule.Move, _ int, steps []schedule.Move) {
	for _, m := range steps {
		if actor, _ := actorOf(m.Choice); !schedule.Independent(did, m) {
			delete(p.priority, actor)
		}
	}
}
