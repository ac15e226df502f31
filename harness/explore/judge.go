package explore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file has the checkers look at a schedule, and keeps the smallest counterexample of each class.

// smallestFound is the smallest counterexample of a class so far.
type smallestFound struct {
	Class    harness.Class      `json:"class"`
	Budget   interleave.Budget  `json:"budget"`
	Length   int                `json:"length"` // steps and probes until it shows
	Schedule savedSchedule      `json:"schedule"`
	shrunk   *interleave.Shrunk // nil: it is as it was found
}

// smaller reports whether c comes before than. Counterexamples are ordered by length, by the faults in them, then by their choices,
// so that the result does not depend on which worker was faster.
func (c *smallestFound) smaller(than *smallestFound) bool {
	return cmp.Or(
		cmp.Compare(c.Length, than.Length),
		cmp.Compare(faultsIn(c.Schedule), faultsIn(than.Schedule)),
		slices.Compare(c.Schedule, than.Schedule),
	) < 0
}

// faultsIn counts the choices of a schedule that are no step of a client.
func faultsIn(schedule []interleave.Choice) (n int) {
	for _, c := range schedule {
		if c.Kind() != interleave.Runs {
			n++
		}
	}
	return n
}

// judge has the checkers look at a schedule that has ended.
func (s *search) judge(ctx context.Context, v visit) error {
	ex := v.ex
	var seen findings
	if !v.pruned {
		seen = ex.withDeadlock(check(ctx, s.spec.Checkers, ex.history()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps += len(ex.path)
	if v.pruned {
		s.pruned++
		return nil
	}
	s.schedules++
	s.doubt = cmp.Or(s.doubt, seen.doubt)
	s.coverage.add(ex.covers())
	s.encounters.add(s.budget, ex, seen.situations)
	for _, op := range ex.ops {
		if op.Outcome == harness.OK {
			s.okKinds[op.Kind] = true
		}
	}
	if ex.GrantedFree != "" { // something was granted without a command, so nobody knows when: the history shows nothing
		return nil
	}
	for _, a := range seen.found {
		if !ex.knowsTimeUntil(a.To) {
			continue // the search says that it cannot tell
		}
		c := &smallestFound{Budget: s.budget, Schedule: ex.path, Class: a.Class, Length: ex.lengthUntil(a.To)}
		if old := s.found[a.Class]; old == nil || c.smaller(old) {
			s.found[a.Class] = c
		}
		s.random.note(a.Class, v.number)
		s.untilFirst = cmp.Or(s.untilFirst, time.Since(s.began))
	}
	return nil
}

// knowsTimeUntil reports whether every clock showed the schedule's time until at. Where the servers' clocks cannot be set they stand still
// while time passes, so what follows a look at one of them may be wrong.
func (ex *execution) knowsTimeUntil(at time.Duration) bool {
	return !ex.ClockRead || ex.w.SetsClocks() || at < start+maxSteps*tick
}

// findings holds the checkers' findings in one schedule.
type findings struct {
	found      []harness.Anomaly
	situations []harness.Situation
	doubt      string // why a checker has no answer although there was something to judge; empty: all have one
}

// check has the checkers look at a history.
func check(ctx context.Context, checkers []harness.Checker, h harness.History) (v findings) {
	for _, c := range checkers {
		g := c.Check(ctx, h, func(a harness.Anomaly) { v.found = append(v.found, a) })
		v.situations = append(v.situations, g.Situations...)
		if g.Doubt() && !g.Absent {
			v.doubt = cmp.Or(v.doubt, c.Name()+": "+g.Reason)
		}
	}
	return v
}

// lengthUntil counts the steps and probes up to t.
func (ex *execution) lengthUntil(t time.Duration) int {
	n := 0
	for _, at := range ex.stepTimes {
		if at <= t {
			n++
		}
	}
	return n
}
