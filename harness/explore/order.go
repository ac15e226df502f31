package explore

import (
	"context"
	"slices"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// orderFound puts the steps of counterexamples into the order of their clients, where the order does not matter. Of many
// schedules that show the same, a reader then sees the one with the fewest turns to follow, whichever the search came to first.
func (s *search) orderFound(ctx context.Context, w *world) error {
	for class, c := range s.found {
		h := newShrinker(s.spec, w, c)
		h.over = ctx.Err
		if err := catchPanics(func() error { return h.order(context.WithoutCancel(ctx)) }); err != nil {
			return err
		}
		h.best.budget, h.best.shrunk = c.budget, c.shrunk
		s.found[class] = h.best
	}
	return nil
}

// order lets neighbouring steps of two clients change places, as long as the first is that of the later client and the violation
// comes no later.
func (h *shrinker) order(ctx context.Context) error {
	for at := 0; at+1 < len(h.best.schedule) && !h.isSpent(); {
		first, second := h.best.schedule[at], h.best.schedule[at+1]
		if first.Kind() != interleave.Runs || second.Kind() != interleave.Runs || first.Number() <= second.Number() {
			at++
			continue
		}
		schedule := slices.Clone(h.best.schedule)
		schedule[at], schedule[at+1] = second, first
		found, err := h.outcome(ctx, h.budget, schedule)
		if err != nil {
			return err
		}
		if found == nil || !found.smaller(h.best) {
			at++
			continue
		}
		h.best = found
		at = max(0, at-1)
	}
	return nil
}
