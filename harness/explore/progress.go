package explore

import (
	"time"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Progress holds the counts of a search under way. All but Planned add up the parts so far.
type Progress struct {
	Budget      interleave.Budget // budget of the part that is under way
	Part, Parts int               // number of that part, from 1, and how many the search has
	Schedules   int               // schedules that were run to their end and judged
	Pruned      int               // schedules that were given up, since another one shows the same
	Planned     int               // schedules of this part that are planned and not begun; each may plan others
	Found       int               // classes of which a counterexample was found
	Endless     bool              // the last part draws schedules at random until the time is up, so nothing is planned in it
}

// progressEvery is the time between two calls of Spec.OnProgress.
const progressEvery = 250 * time.Millisecond

// tellProgress calls spec.OnProgress every progressEvery until the caller calls stop, which makes the last call.
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

// progress returns the counts so far.
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
		Schedules: s.seen.Schedules, Pruned: s.seen.Pruned, Planned: planned, Found: len(s.seen.Found),
		Endless: s.spec.Random != nil && s.spec.Random.Schedules == 0,
	}
}
