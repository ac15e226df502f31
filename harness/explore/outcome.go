package explore

import (
	"cmp"
	"context"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// outcome is what a schedule came to, for whoever judges it. It does not change.
type outcome struct {
	path       []interleave.Choice
	times      []time.Duration // virtual times of the steps and, after them, of the harness's probes
	history    harness.History
	situations []harness.SituationName // that the explorer brought about
	covers     coverage
	deadlock   *harness.Anomaly // nil: nobody waits for ever
	knownUntil time.Duration    // time until which every clock showed the schedule's time
}

// judgement is what checkers say of one schedule.
type judgement struct {
	found      []harness.Anomaly
	situations []harness.Situation
	doubt      string // why a checker has no answer although there was something to judge; empty: all have one
}

// check has the checkers look at a history.
func check(ctx context.Context, checkers []harness.Checker, h harness.History) (v judgement) {
	for _, c := range checkers {
		g := c.Check(ctx, h, func(a harness.Anomaly) { v.found = append(v.found, a) })
		v.situations = append(v.situations, g.Situations...)
		if g.Doubt() && !g.Absent {
			v.doubt = cmp.Or(v.doubt, c.Name()+": "+g.Reason)
		}
	}
	return v
}

// judge has the checkers look at the schedule. A deadlock is the explorer's own finding.
func (o outcome) judge(ctx context.Context, checkers []harness.Checker) judgement {
	v := check(ctx, checkers, o.history)
	if o.deadlock != nil {
		v.found = append(v.found, *o.deadlock)
	}
	return v
}

// lengthUntil counts the steps and probes up to t.
func (o outcome) lengthUntil(t time.Duration) int { return lengthUntil(o.times, t) }

// lengthUntil counts the times up to t.
func lengthUntil(times []time.Duration, t time.Duration) (n int) {
	for _, at := range times {
		if at <= t {
			n++
		}
	}
	return n
}
