package explore

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness/explore/internal/frontier"
)

// This file hands the planned schedules out to workers.

// mostPlanned bounds the schedules that are planned at one time. Each takes about a kilobyte. The whole catalogue needs less than a
// tenth of the bound.
const mostPlanned = 2_000_000

// plan changes what is planned.
func (s *search) plan(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	if planned := s.source.Planned(); planned > mostPlanned && !s.over {
		s.over = true
		s.stopped = fmt.Sprintf("the budget multiplies to more than fits into memory: after %d schedules %d more were planned, which plan others in turn; "+
			"ask for fewer clients, for less in one schedule, or for schedules at random (--random)", s.seen.Schedules, planned)
	}
	s.wake.Broadcast()
}

// next takes the schedule that comes next. It waits while other workers may still plan some. ok is false when the part, the round or the
// search is over.
func (s *search) next() (j frontier.Job, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.over {
			return nil, false
		}
		switch planned := s.source.Planned(); {
		case planned == 0 && s.busy == 0:
			return nil, false
		case planned == 0:
			s.wake.Wait()
		case s.reachedLimit():
			return nil, false
		case s.spec.MaxSchedules > 0 && s.seen.Schedules+s.busy >= s.spec.MaxSchedules:
			s.wake.Wait() // some of those under way may be given up
		default:
			if j, ok = s.source.Next(); ok {
				s.busy++
			}
			return j, ok
		}
	}
}

// reachedLimit reports whether the search ends here although more is planned. The caller holds s.mu.
func (s *search) reachedLimit() bool {
	switch {
	case s.spec.First && len(s.seen.Found) > 0:
		s.stopped = "a counterexample was found"
	case s.spec.MaxSchedules > 0 && s.seen.Schedules >= s.spec.MaxSchedules:
		s.stopped = fmt.Sprintf("%d schedules were run", s.spec.MaxSchedules)
	case s.mostRuns > 0 && s.seen.Schedules+s.seen.Pruned >= s.mostRuns:
		s.stopped = pieceOver
	default:
		return false
	}
	s.over = true
	s.wake.Broadcast()
	return true
}

// workerDone notes that a worker has done its schedule, or given it up.
func (s *search) workerDone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.wake.Broadcast()
}
