package workqueue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	mostFailures = 2 // a worker is barred when it has failed this many units in a row that others did afterwards
	// A worker that has failed units takes new ones again after this time, even if no other worker has tried the failed
	// ones.
	probationTime = time.Minute
	leavePause    = time.Second / 2 // how long a worker pauses after it has left a unit to others
)

// probation tracks a worker's failures. A worker that has failed a unit is on probation: it takes no new unit until
// another worker has tried the failed one.
type probation struct {
	queue Queue
	name  string

	failed   map[string]string // reasons for its failures at units that no other worker has tried yet, by the unit's ID
	since    time.Time         // time of the worker's last failure
	failures int               // number of units in a row that the worker failed and another worker did
	why      string            // reason for the last failure in this row
}

func (p *probation) noteFailure(id, why string) { p.failed[id], p.since = why, time.Now() }

// judge checks what became of the units that the worker has failed. The error wraps ErrBarred if they show that the
// worker is at fault.
func (p *probation) judge(ctx context.Context) error {
	for id, why := range p.failed {
		s, err := p.queue.State(ctx, id)
		if err != nil {
			return err
		}
		byAnother := slices.ContainsFunc(s.Tries, func(t Try) bool { return t.Failed && t.Worker != p.name })
		switch {
		case s.Over && s.Worker != "" && s.Worker != p.name:
			p.failures, p.why = p.failures+1, fmt.Sprintf("%s, which %s then completed", why, s.Worker)
		case byAnother || s.Over:
			p.failures = 0
		default:
			continue
		}
		delete(p.failed, id)
	}
	if p.failures < mostFailures {
		return nil
	}
	why := fmt.Sprintf("it failed %d units in a row that other workers completed; the last: %s", p.failures, p.why)
	if err := p.queue.Withdraw(ctx, why); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", ErrBarred, why)
}

// shouldLeave reports whether the worker should leave a unit to other workers, and how long the unit then waits before
// it may be handed out again. A unit that the worker itself has failed waits longer, so that the worker gets other
// units first.
func (p *probation) shouldLeave(ctx context.Context, job Job) (leaves bool, after time.Duration, err error) {
	tries := job.Tries()
	mine := FailedBy(tries, p.name)
	if !mine && len(p.failed) == 0 {
		return false, 0, nil
	}
	isNew := !slices.ContainsFunc(tries, func(t Try) bool { return t.Failed })
	if !mine && (!isNew || time.Since(p.since) >= probationTime) {
		return false, 0, nil
	}
	// at random, since two workers that leave units to each other would otherwise keep taking their own back in step
	if mine {
		after = RetryAfter/2 + rand.N(RetryAfter)
	}
	leaves, err = p.queue.HasOtherWorker(ctx, func(other string) bool { return !FailedBy(tries, other) })
	return leaves, after, err
}
