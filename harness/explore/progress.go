package explore

import (
	"time"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Progress holds the counts of a running search. All except Planned cover all parts so far.
type Progress struct {
	Budget      interleave.Budget // budget of the current part
	Part, Parts int               // number of the current part, from 1, and of all parts
	Schedules   int               // schedules that were run and judged
	Pruned      int               // schedules that were ended early, since another shows the same
	Planned     int               // schedules of the current part that are planned and not begun; each may plan others
	Classes     int               // classes with a counterexample
	Endless     bool              // the last part draws random schedules until the time is up, so none are planned
}

// progressEvery is the time between two calls of Spec.OnProgress.
const progressEvery = 250 * time.Millisecond

// tellProgress calls spec.OnProgress every progressEvery until the returned function is called, which calls
// spec.OnProgress a last time.
func (s *search) tellProgress() (stop func()) {
	if s.spec.OnProgress == nil {
		return func() {}
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				s.spec.OnProgress(s.progress())
			}
		}
	}()
	return func() {
		close(over)
		<-ended
		s.spec.OnProgress(s.progress())
	}
}

func (s *search) progress() Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	planned := 0
	if s.branches != nil {
		planned = s.branches.Planned()
	}
	if s.spec.Random != nil {
		planned = max(planned, s.spec.Random.Schedules-s.seen.Random.Drawn)
	}
	return Progress{
		Budget: s.budget, Part: s.part, Parts: max(s.part, len(s.budgets())),
		Schedules: s.seen.Schedules, Pruned: s.seen.Pruned, Planned: planned, Classes: len(s.seen.Counterexamples),
		Endless: s.spec.Random != nil && s.spec.Random.Schedules == 0,
	}
}
