package explore

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file keeps the planned branches of a part, and hands them out.

// mostPlanned bounds the schedules that are planned at one time. Each takes about a kilobyte. The whole catalogue needs less than a
// tenth of the bound.
const mostPlanned = 2_000_000

// item is a branch of the search: every schedule that begins with prefix and does not go on with a move of its sleep set.
type item struct {
	prefix      []interleave.Choice
	fingerprint uint64 // fingerprint that prefix had when it was planned
	sleepSet    []*move
	cost        int // preemptions and interferences in prefix
}

// push plans items.
func (s *search) push(items []item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		for len(s.queue) <= it.cost {
			s.queue = append(s.queue, nil)
		}
		s.queue[it.cost] = append(s.queue[it.cost], it)
	}
	if s.planned += len(items); s.planned > mostPlanned && !s.over {
		s.over = true
		s.stopped = fmt.Sprintf("the budget multiplies to more than fits into memory: after %d schedules %d more were planned, which plan others in turn; "+
			"ask for fewer clients, for less in one schedule, or for schedules at random (--random)", s.schedules, s.planned)
	}
	s.wake.Broadcast()
}

// pop takes the last planned of the cheapest items. It waits while other workers may still plan some. ok is false when the
// part or the search is over.
func (s *search) pop() (it item, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.over {
			return it, false
		}
		switch {
		case s.planned == 0 && s.busy == 0:
			return it, false
		case s.planned == 0:
			s.wake.Wait()
		case s.reachedLimit():
			return it, false
		case s.spec.MaxSchedules > 0 && s.schedules+s.busy >= s.spec.MaxSchedules:
			s.wake.Wait() // some of those under way may be given up
		default:
			s.busy++
			return s.takeItem()
		}
	}
}

// reachedLimit reports whether the search ends here although more is planned. The caller holds s.mu.
func (s *search) reachedLimit() bool {
	switch {
	case s.spec.First && len(s.found) > 0:
		s.stopped = "a counterexample was found"
	case s.spec.MaxSchedules > 0 && s.schedules >= s.spec.MaxSchedules:
		s.stopped = fmt.Sprintf("%d schedules were run", s.spec.MaxSchedules)
	case s.mostRuns > 0 && s.schedules+s.pruned >= s.mostRuns:
		s.stopped = pieceOver
	default:
		return false
	}
	s.over = true
	s.wake.Broadcast()
	return true
}

// putBack plans an item again that could not be gone through, so that a checkpoint has it.
func (s *search) putBack(it item) { s.push([]item{it}) }

func (s *search) itemDone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.wake.Broadcast()
}

// takeItem takes the item that comes next from the queue. The caller holds s.mu.
func (s *search) takeItem() (it item, ok bool) {
	for cost, items := range s.queue {
		if n := len(items) - 1; n >= 0 {
			it, s.queue[cost] = items[n], items[:n]
			s.planned--
			return it, true
		}
	}
	return it, false
}
