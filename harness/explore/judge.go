package explore

import (
	"context"
	"math"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
)

// This file has the checkers judge schedules.

// judge has the checkers judge a schedule that has ended.
func (s *search) judge(ctx context.Context, v jobRun) {
	if v.ended != strategy.Finish {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen.NotePruned(len(v.ex.path), v.job.Draw())
		return
	}
	o := v.ex.outcome()
	o.Draw = v.job.Draw()
	var said findings.Judgement
	if err := catchPanics(func() error { said = o.Judge(ctx, s.spec.Checkers); return nil }); err != nil {
		s.fail(err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.Note(s.budget, o, said)
	s.noteFirst()
}

// outcome returns the result of a schedule that has ended.
func (ex *execution) outcome() findings.Outcome {
	o := findings.Outcome{
		Path: ex.path, Times: ex.stepTimes, History: ex.history(), Ops: ex.ops, Situations: ex.situations,
		Covers: ex.covers(), Deadlock: ex.deadlock, Undeclared: ex.undeclared, KnownUntil: math.MaxInt64,
	}
	// A clock that the search cannot set stands still while time passes, so what a client did after it had read one may
	// rest on a wrong time. No time has passed in the first millisecond.
	if ex.ClockRead && !ex.w.SetsClocks() {
		o.KnownUntil = keyspace.Grain
	}
	return o
}

// covers returns the coverage of a schedule that has ended.
func (ex *execution) covers() findings.Coverage {
	m := ex.Coverage
	for _, c := range ex.path {
		m.Crashed = m.Crashed || c.IsCrash()
	}
	of := harness.Meta{Workers: len(ex.actors) + 1}
	for _, op := range ex.ops {
		if op.Kind == harness.Acquire && op.Outcome == harness.OK && op.Client != harness.HarnessClient {
			m.Owners |= 1 << of.Worker(op.Client)
			m.Tokens = m.Tokens || op.Result != ""
		}
	}
	return m
}
