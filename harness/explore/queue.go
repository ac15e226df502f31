package explore

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
)

// This file keeps the planned branches of a part, and hands them out.

// mostPlanned bounds the schedules that are planned at one time. Each takes about a kilobyte. The whole catalogue needs less than a
// tenth of the bound.
const mostPlanned = 2_000_000

// push plans branches.
func (s *search) push(branches []strategy.Branch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range branches {
		for len(s.queue) <= b.Cost {
			s.queue = append(s.queue, nil)
		}
		s.queue[b.Cost] = append(s.queue[b.Cost], b)
	}
	if s.planned += len(branches); s.planned > mostPlanned && !s.over {
		s.over = true
		s.stopped = fmt.Sprintf("the budget multiplies to more than fits into memory: after %d schedules %d more were planned, which plan others in turn; "+
			"ask for fewer clients, for less in one schedule, or for schedules at random (--random)", s.seen.Schedules, s.planned)
	}
	s.wake.Broadcast()
}

// pop takes the last planned of the cheapest branches. It waits while other workers may still plan some. ok is false when the
// part or the search is over.
func (s *search) pop() (b strategy.Branch, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.over {
			return b, false
		}
		switch {
		case s.planned == 0 && s.busy == 0:
			return b, false
		case s.planned == 0:
			s.wake.Wait()
		case s.reachedLimit():
			return b, false
		case s.spec.MaxSchedules > 0 && s.seen.Schedules+s.busy >= s.spec.MaxSchedules:
			s.wake.Wait() // some of those under way may be given up
		default:
			s.busy++
			return s.takeBranch()
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

// putBack plans a branch again that could not be gone through, so that a checkpoint has it.
func (s *search) putBack(b strategy.Branch) { s.push([]strategy.Branch{b}) }

func (s *search) branchDone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.wake.Broadcast()
}

// takeBranch takes the branch that comes next from the queue. The caller holds s.mu.
func (s *search) takeBranch() (b strategy.Branch, ok bool) {
	for cost, branches := range s.queue {
		if n := len(branches) - 1; n >= 0 {
			b, s.queue[cost] = branches[n], branches[:n]
			s.planned--
			return b, true
		}
	}
	return b, false
}
