package explore

import (
	"context"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

const (
	mostOrderRuns = 1000            // the largest number of schedules that are run to reorder one counterexample
	orderWithin   = 3 * time.Second // time for reordering one counterexample, counted while this process is awake
)

// orderFound sorts the steps of counterexamples by client where their order does not matter. Many schedules may show
// the same violation. A reader gets one with few switches between clients, whichever the search found first.
func (s *search) orderFound(ctx context.Context, w *world) error {
	for class, c := range s.seen.Counterexamples {
		h := newShrinker(s.spec, w, c)
		h.over, h.most = ctx.Err, mostOrderRuns
		h.setTimeout(orderWithin)
		if err := catchPanics(func() error { return h.order(context.WithoutCancel(ctx)) }); err != nil {
			return err
		}
		h.best.Budget, h.best.Shrunk = c.Budget, c.Shrunk
		s.seen.Counterexamples[class] = h.best
	}
	return nil
}

// order moves single steps to other places in the schedule as long as that makes the counterexample easier to read: see
// isTidier.
func (h *shrinker) order(ctx context.Context) error {
	for from := 0; from < len(h.best.Schedule); from++ {
		if h.best.Schedule[from].Kind() != interleave.Runs {
			continue
		}
		for to := range h.best.Schedule {
			tidier, err := h.moveStep(ctx, from, to)
			if err != nil {
				return err
			}
			if tidier {
				from = -1 // start again
				break
			}
		}
	}
	return nil
}

// moveStep moves one step to another index. It keeps the resulting schedule if that is tidier and still shows the
// violation.
func (h *shrinker) moveStep(ctx context.Context, from, to int) (tidier bool, err error) {
	old := h.best.Schedule
	schedule := slices.Insert(slices.Delete(slices.Clone(old), from, from+1), to, old[from])
	if !isTidier(schedule, old) {
		return false, nil
	}
	found, err := h.outcomeOnce(ctx, h.budget, schedule)
	if found == nil || err != nil || found.Length > h.best.Length || !isTidier(found.Schedule, old) {
		return false, err
	}
	h.best = found
	return true, nil
}

// isTidier reports whether schedule a is easier to read than schedule b: clients with smaller numbers act earlier. It
// is false if a has more faults or more switches between clients.
func isTidier(a, b []interleave.Choice) bool {
	return slices.Compare(a, b) < 0 && findings.FaultsIn(a) <= findings.FaultsIn(b) &&
		countSwitches(a) <= countSwitches(b)
}
