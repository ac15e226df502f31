package explore

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file ends a search early. A search without any of these endings has run every schedule. The first one counts,
// but a failure always does:
//
//   - its time is up: stopInTime
//   - ctx was canceled: run
//   - it has the first counterexample, or its number of schedules, as asked: endAtLimitLocked
//   - a piece has run its number of schedules: endAtLimitLocked
//   - more schedules are planned than fit into memory: plan
//   - every random schedule was drawn: runAtRandom
//   - a piece says so, or pieces turn out to be unreliable: afterPiece, checkPieces
//   - a client does not do the same again, or cannot be followed (schedule.ErrStopped): fail
//   - a failure of the harness, its environment, the program or a checker: fail. Search returns its error
//
// A part can end without the search if its own time is up: runPartFor.

// ending says why a search ended early. The zero value says that it did not.
type ending struct {
	stopped    string // see interleave.Result.Stopped; empty: the search goes on, or has failed
	outOfTime  bool   // the search's time is up
	partTimeUp bool   // the current part's time is up, but not the search's: see runPartFor
	failure    error  // error of the harness, its environment, the program or a checker; nil: none
}

// isOver reports whether the search has ended early. The caller holds search.mu.
func (e *ending) isOver() bool { return e.stopped != "" || e.failure != nil }

// isEndingLocked reports whether the current part ends early, alone or with the search. The caller holds s.mu.
func (s *search) isEndingLocked() bool { return s.isOver() || s.partTimeUp }

// isEnding reports whether the current part ends early.
func (s *search) isEnding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isEndingLocked()
}

func (s *search) stop(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(reason)
}

// stopInTime ends the search because its time is up.
func (s *search) stopInTime() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outOfTime = !s.isOver()
	s.endLocked(fmt.Sprintf("the time is up (%v%s)", s.spec.For, s.noPieceDone()))
}

// endLocked ends the search early, if it has not ended. The caller holds s.mu.
func (s *search) endLocked(reason string) {
	if !s.isOver() {
		s.stopped = reason
	}
	s.wake.Broadcast()
}

// endAtLimitLocked ends the search if it has reached a limit, such as its number of schedules. It reports whether the
// search has ended, for this or an earlier reason. The caller holds s.mu.
func (s *search) endAtLimitLocked() bool {
	switch {
	case s.spec.First && len(s.seen.Counterexamples) > 0:
		s.endLocked("a counterexample was found")
	case s.spec.MaxSchedules > 0 && s.seen.Schedules >= s.spec.MaxSchedules:
		s.endLocked(fmt.Sprintf("%d schedules were run", s.spec.MaxSchedules))
	case s.mostRuns > 0 && s.seen.Schedules+s.seen.Pruned >= s.mostRuns:
		s.endLocked(pieceOver)
	}
	return s.isOver()
}

// fail ends the search because of an error. If the error wraps ErrStopped, the search has not failed: the program
// cannot be searched any further, and the error is the reason.
func (s *search) fail(err error) {
	if errors.Is(err, schedule.ErrStopped) {
		why := schedule.Why(err)
		if errors.Is(err, schedule.ErrNotRepeated) {
			why += remedy(s.spec.Program)
		}
		s.stop(why)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = cmp.Or(s.failure, err)
	s.wake.Broadcast()
}

// What users can do about a nondeterministic client.
const (
	remedyInside = ". Let its behaviour depend only on what it reads: no goroutines or timers of its own, " +
		"harness.Now instead of time.Now, no unseeded random numbers, no order of a map"
	remedyAdapter = ". Let it act on what it reads alone: one command at a time, nothing between an answer and the " +
		"next request, so no thread or timer beside it, no random decisions, and no clock but those of " +
		"workloads/adapters/README.md; if it keeps something from one schedule to the next, let it ask for reset in " +
		"its answer to init, and forget all then (keeps_state of lock.py)"
)

// remedy returns what the author of a program can do about a nondeterministic client.
func remedy(p interleave.Program) string {
	if p.Gate == interleave.TCP {
		return remedyAdapter
	}
	return remedyInside
}
