package explore

import (
	"context"
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file gives a search fewer clients if its clients wait or have threads, unless the user asked for a number of
// clients. Each thread counts like one more client, and a search of three clients with a thread each takes hours.

// fewerClients is the number of clients in a search whose clients wait or have threads.
const fewerClients = 2

// budgets returns the budgets of the parts of the search, in their order.
func (s *search) budgets() []interleave.Budget {
	all := s.spec.budgets()
	if s.limitsClients {
		for i := range all {
			all[i].Clients = min(all[i].Clients, fewerClients)
		}
	}
	if len(s.parts) == 0 {
		return all
	}
	for i := range all[1:] {
		all[i+1] = fitToFirstPart(all[i+1], s.parts[0].Schedules)
	}
	return slices.Concat(all, s.stopsApart(all), s.closerLooks(all))
}

// stopsApart returns the budgets of further parts, one for each client that does something else than the others
// (Program.SpecialPlaces). In these parts time may also pass to shortly before the end of a lease, and no client
// crashes. There are none where they would have too many schedules, for example because clients read the time.
func (s *search) stopsApart(all []interleave.Budget) (out []interleave.Budget) {
	if s.seen.Coverage.TellsTime || s.parts[0].Schedules > manySchedules || s.spec.Program.Timeless {
		return nil
	}
	for _, b := range all {
		if s.spec.isApart(b) && b.Expiries > 0 {
			b.Crashes, b.Approaches = 0, b.Expiries
			out = append(out, b)
		}
	}
	return out
}

// closerLooks returns the budgets of up to two parts that end the search. Both have two clients, which read the time.
// In the first, time passes to more instants. It is left out if an earlier part of two clients did the same. In the
// second, a client may crash, and time does not pass beyond the end of a lease.
func (s *search) closerLooks(all []interleave.Budget) (out []interleave.Budget) {
	i := slices.IndexFunc(all, func(b interleave.Budget) bool { return b.Approaches > 0 })
	if i < 0 || !s.spec.EveryPart() || !s.seen.Coverage.TellsTime || s.spec.Program.Timeless {
		return nil
	}
	approach := all[i]
	if approach.Clients > 2 {
		approach.Clients = 2
		out = append(out, approach)
	}
	if s.spec.Crashes > 0 {
		approach.Crashes, approach.Expiries = s.spec.Crashes, 0
		out = append(out, approach)
	}
	return out
}

// mayLimitClients reports whether the search may use fewer clients than usual.
func (s *search) mayLimitClients() bool {
	return s.spec.anyNumber && s.spec.EveryPart() && s.spec.Random == nil && s.spec.Clients > fewerClients
}

// clientsWait reports whether a client starts a thread or waits, in one of two schedules that it runs. In the first,
// the clients run to their ends one after the other. In the second, they alternate. Errors are ignored here, since the
// search itself finds them.
func (s *search) clientsWait(ctx context.Context, w *world) (yes bool) {
	r := runner{spec: s.spec, w: w}
	_ = catchPanics(func() error {
		for _, order := range []strategy.Strategy{&strategy.First{}, strategy.Alternate{}} {
			ex, err := r.run(ctx, s.spec.budgets()[0], func() strategy.Strategy { return order })
			if err != nil {
				return err
			}
			yes = yes || ex.hasWaited || ex.hasThreads()
		}
		return nil
	})
	return yes
}
