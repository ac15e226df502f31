package workqueue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	mostFailures = 2 // units in a row that a worker failed and others did: after them it is barred
	// after which a worker on probation takes new units again, though nobody has tried what it failed
	probationTime = time.Minute
	leaveFor      = time.Second / 2 // how long a worker waits that has left a unit to others
)

// probation is what a worker goes through once it has failed a unit. The zero value of its maps and counts is that of
// one that has not.
type probation struct {
	queue Queue
	name  string

	failed   map[string]string // units that it failed and nobody else has tried, by ID, each with why
	since    time.Time         // when it failed the last of them
	failures int               // units in a row that it failed and another did
	why      string            // it failed the last of these
}

// fails notes that the worker has failed a unit.
func (p *probation) fails(id, why string) { p.failed[id], p.since = why, time.Now() }

// judge looks at what became of the units that the worker has failed. The error wraps ErrBarred if they show that it is
// the worker's fault.
func (p *probation) judge(ctx context.Context) error {
	for id, why := range p.failed {
		s, err := p.queue.Look(ctx, id)
		if err != nil {
			return err
		}
		byAnother := slices.ContainsFunc(s.Tries, func(t Try) bool { return t.Failed && t.Worker != p.name })
		switch {
		case s.Over && s.Worker != "" && s.Worker != p.name:
			p.failures, p.why = p.failures+1, fmt.Sprintf("%s, which %s then did", why, s.Worker)
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
	why := fmt.Sprintf("it failed %d units in a row that others did; the last: %s", p.failures, p.why)
	if err := p.queue.Bar(ctx, why); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", ErrBarred, why)
}

// leaves reports whether the worker leaves a unit to others, and after what time the unit is handed out again. One that
// it has failed itself waits, so that others are handed out before.
func (p *probation) leaves(ctx context.Context, job Job) (leaves bool, after time.Duration, err error) {
	tries := job.Tries()
	mine := FailedBy(tries, p.name)
	if !mine && len(p.failed) == 0 {
		return false, 0, nil
	}
	isNew := !slices.ContainsFunc(tries, func(t Try) bool { return t.Failed })
	if !mine && (!isNew || time.Since(p.since) >= probationTime) {
		return false, 0, nil
	}
	if mine { // by chance, since two workers that each leave a unit to the other would take their own again in step
		after = RetryAfter/2 + rand.N(RetryAfter)
	}
	leaves, err = p.queue.HasOther(ctx, func(other string) bool { return !FailedBy(tries, other) })
	return leaves, after, err
}
