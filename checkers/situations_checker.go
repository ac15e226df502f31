package checkers

import (
	"context"

	"github.com/doublegrant/doublegrant/harness"
)

// Met returns a checker that judges nothing and lists the [Situations] that a history meets. Met is for histories that
// [Gates] does not judge, such as an explorer's schedule. For runs, [Gates] lists the situations.
func Met() harness.Checker { return metChecker{} }

type metChecker struct{}

func (metChecker) Name() string { return "situations" }

func (metChecker) Check(ctx context.Context, h harness.History, _ func(harness.Anomaly)) harness.Judgement {
	s := NewSituations(h.Meta)
	eachOp(ctx, h, s.Op)
	return harness.Judgement{Checker: "situations", NothingToJudge: true, Reason: "it only counts",
		Situations: s.List()}
}
