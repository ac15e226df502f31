package harness

import (
	"math/rand/v2"
	"time"
)

// pacer says when the steps of one worker of an open-loop load are due. These times are a Poisson process, and so are
// those of all workers together. They do not depend on how long steps take.
//
// A worker that is late begins its next step at once, and works off what has become due, as the load generator wrk2
// does. So if a system stops for a second, every operation that was due in that second is late, and not just one
// operation of each client.
type pacer struct {
	mean time.Duration // mean time between two steps of the worker
	due  time.Duration // when the last step was due; at first when the load began
	rng  *rand.Rand
}

// nextDue returns when the next step is due, on the run's clock.
func (p *pacer) nextDue() time.Duration {
	p.due += time.Duration(p.rng.ExpFloat64() * float64(p.mean))
	return p.due
}
