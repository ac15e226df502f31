package findings

import (
	"cmp"
	"context"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Outcome is what a schedule came to, for whoever judges it. It does not change.
type Outcome struct {
	Path       []interleave.Choice
	Times      []time.Duration // virtual times of the steps and, after them, of the harness's probes
	History    harness.History
	Ops        []harness.Op            // those of History
	Situations []harness.SituationName // that the explorer brought about
	Covers     Coverage
	Deadlock   *harness.Anomaly // nil: nobody waits for ever
	Undeclared *harness.Anomaly // nil: every script declares the keys that it has touched
	// what is found from then on is not kept, as some clock showed another time than the schedule's; math.MaxInt64: all
	// is
	KnownUntil time.Duration
	Draw       Draw // zero: it was not drawn at random
}

// Judgement is what checkers say of one schedule.
type Judgement struct {
	Found      []harness.Anomaly
	situations []harness.Situation
	doubt      string // why a checker has no answer although there was something to judge; empty: all have one
}

// Check has the checkers look at a history.
func Check(ctx context.Context, checkers []harness.Checker, h harness.History) (v Judgement) {
	for _, c := range checkers {
		g := c.Check(ctx, h, func(a harness.Anomaly) { v.Found = append(v.Found, a) })
		v.situations = append(v.situations, g.Situations...)
		if g.Doubt() && !g.Absent {
			v.doubt = cmp.Or(v.doubt, c.Name()+": "+g.Reason)
		}
	}
	return v
}

// Judge has the checkers look at the schedule. A deadlock, and a key that is not declared, are the explorer's own
// findings.
func (o Outcome) Judge(ctx context.Context, checkers []harness.Checker) Judgement {
	v := Check(ctx, checkers, o.History)
	for _, own := range []*harness.Anomaly{o.Deadlock, o.Undeclared} {
		if own != nil {
			v.Found = append(v.Found, *own)
		}
	}
	return v
}

// LengthUntil counts the steps and probes up to t.
func (o Outcome) LengthUntil(t time.Duration) int { return LengthUntil(o.Times, t) }

// LengthUntil counts the times up to t.
func LengthUntil(times []time.Duration, t time.Duration) (n int) {
	for _, at := range times {
		if at <= t {
			n++
		}
	}
	return n
}
