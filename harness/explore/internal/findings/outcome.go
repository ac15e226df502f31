package findings

import (
	"cmp"
	"context"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Outcome is the result of one schedule, for the checkers to judge.
type Outcome struct {
	Path       []interleave.Choice
	Times      []time.Duration // virtual times of the steps, then of the harness's operations after them
	History    harness.History
	Ops        []harness.Op            // operations of History
	Situations []harness.SituationName // situations that the explorer caused
	Covers     Coverage
	Deadlock   *harness.Anomaly // nil: no client waits for ever
	Undeclared *harness.Anomaly // nil: every script declares the keys that it touched
	// A violation at this time or later is dropped, since a clock may have shown a wrong time; math.MaxInt64: no
	// violation is dropped.
	KnownUntil time.Duration
	Draw       Draw // zero: not drawn at random
}

// Judgement is what the checkers say about one schedule.
type Judgement struct {
	Anomalies  []harness.Anomaly
	situations []harness.Situation
	doubt      string // why a checker could not judge although there was something to judge; empty: none
}

// Check runs the checkers on a history.
func Check(ctx context.Context, checkers []harness.Checker, h harness.History) (v Judgement) {
	for _, c := range checkers {
		g := c.Check(ctx, h, func(a harness.Anomaly) { v.Anomalies = append(v.Anomalies, a) })
		v.situations = append(v.situations, g.Situations...)
		if g.InDoubt() && !g.NothingToJudge {
			v.doubt = cmp.Or(v.doubt, c.Name()+": "+g.Reason)
		}
	}
	return v
}

// Judge runs the checkers on the schedule, and adds the explorer's own findings: a deadlock and an undeclared key.
func (o Outcome) Judge(ctx context.Context, checkers []harness.Checker) Judgement {
	v := Check(ctx, checkers, o.History)
	for _, own := range []*harness.Anomaly{o.Deadlock, o.Undeclared} {
		if own != nil {
			v.Anomalies = append(v.Anomalies, *own)
		}
	}
	return v
}

// LengthUntil counts what happened up to the virtual time t: steps, and operations of the harness after the last step.
// The parameter times is Outcome.Times.
func LengthUntil(times []time.Duration, t time.Duration) (n int) {
	for _, at := range times {
		if at <= t {
			n++
		}
	}
	return n
}
