package explore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file shrinks random counterexamples by delta debugging: Zeller and Hildebrandt, "Simplifying and Isolating
// Failure-Inducing Input", IEEE Transactions on Software Engineering 28(2), 2002. Every candidate is run.

const (
	mostShrinkRuns = 4000 // the largest number of schedules that are run to shrink one counterexample
	// time for shrinking one counterexample, counted while this process is awake
	shrinkWithin   = 20 * time.Second
	mostPolishRuns = 3000 // the largest number of schedules that are run with the remaining clients and faults
)

// shrinkFound shrinks the counterexamples of random schedules.
func (s *search) shrinkFound(ctx context.Context, w *world) error {
	if s.spec.Random == nil {
		return nil
	}
	for class, c := range s.seen.Counterexamples {
		at := s.seen.Random.FirstAt[class]
		if at == 0 || c.Budget != s.spec.budgets()[0] { // found by running every schedule of fewer clients
			continue
		}
		small, shrunk, err := s.shrink(ctx, w, c)
		if err != nil {
			return err
		}
		shrunk.Schedule = at
		small.Shrunk = &shrunk
		s.seen.Counterexamples[class] = small
	}
	return nil
}

// shrink makes a counterexample smaller: fewer clients, then fewer steps, faults and preemptions. Finally it runs every
// schedule of the remaining clients and faults, if there are not too many.
func (s *search) shrink(ctx context.Context, w *world, c *findings.Counterexample) (*findings.Counterexample,
	interleave.Shrunk, error) {
	h := newShrinker(s.spec, w, c)
	h.over = ctx.Err
	ctx = context.WithoutCancel(ctx)
	shrunk := interleave.Shrunk{Clients: c.Budget.Clients, Steps: c.Length}
	err := catchPanics(func() error { return h.shrink(ctx) })
	if err == nil {
		shrunk.Smallest, err = s.polish(ctx, w, h)
	}
	shrunk.Runs = h.runs
	return h.best, shrunk, err
}

// polish runs every schedule of the remaining clients and faults, up to a bound, and takes the smallest counterexample.
// The result all says whether it ran every one.
func (s *search) polish(ctx context.Context, w *world, h *shrinker) (all bool, err error) {
	if h.best.Budget.Clients > interleave.MaxExhaustive || h.over() != nil {
		return false, nil
	}
	spec := *s.spec
	spec.Random, spec.First, spec.MaxSchedules = nil, false, mostPolishRuns
	spec.Pieces, spec.Resume, spec.OnCheckpoint = nil, nil, nil
	within := newSearch(&spec)
	defer w.awake.CallAt(h.until, func() { within.stop("its time is up") })()
	within.runPart(ctx, h.best.Budget, []*world{w})
	h.runs += within.seen.Schedules + within.seen.Pruned
	if found := within.seen.Counterexamples[h.class]; found != nil && found.Smaller(h.best) {
		h.best = found
	}
	return !within.isEnding(), within.failure
}

// shrinker shrinks one counterexample.
type shrinker struct {
	runner
	class  harness.Class
	budget interleave.Budget // budget of candidates, except for the number of clients
	best   *findings.Counterexample
	seen   map[string]bool // candidates that were run
	runs   int
	most   int           // the largest number of runs
	until  time.Duration // time at which shrinking ends, by the world's clock
	over   func() error  // returns an error once the search is interrupted
}

func newShrinker(spec *Spec, w *world, c *findings.Counterexample) *shrinker {
	h := &shrinker{
		runner: runner{spec: spec, w: w}, class: c.Class, budget: c.Budget, best: c,
		seen: map[string]bool{}, most: mostShrinkRuns, over: func() error { return nil },
	}
	h.setTimeout(shrinkWithin)
	return h
}

func (h *shrinker) setTimeout(d time.Duration) {
	awake, _ := h.w.awake.Read()
	h.until = awake + d
}

// shrink tries smaller candidates until none is a counterexample of the class.
func (h *shrinker) shrink(ctx context.Context) error {
	for {
		before := h.best
		for _, pass := range []func(context.Context) error{h.dropClients, h.dropChunks, h.cutShort,
			h.mend, h.bringForward} {
			if err := pass(ctx); err != nil {
				return err
			}
		}
		if h.best == before || h.isSpent() {
			return nil
		}
	}
}

func (h *shrinker) isSpent() bool {
	awake, _ := h.w.awake.Read()
	return h.runs >= h.most || awake > h.until || h.over() != nil
}

// dropClients removes clients one by one.
func (h *shrinker) dropClients(ctx context.Context) error {
	for i := h.best.Budget.Clients - 1; i >= 0 && h.best.Budget.Clients > 2; i-- {
		if i >= h.best.Budget.Clients {
			continue
		}
		if _, err := h.try(ctx, h.best.Budget.Clients-1, withoutClient(h.best.Schedule, i)); err != nil {
			return err
		}
	}
	return nil
}

// dropChunks tries to remove choices that follow each other: half of the schedule at once, then a quarter, and so on to
// single choices.
func (h *shrinker) dropChunks(ctx context.Context) error {
	for size := len(h.best.Schedule) / 2; size > 0; size /= 2 {
		for at := 0; at < len(h.best.Schedule); {
			old := h.best.Schedule
			smaller, err := h.try(ctx, h.best.Budget.Clients,
				slices.Delete(slices.Clone(old), at, min(at+size, len(old))))
			if err != nil {
				return err
			}
			if !smaller {
				at += size
			}
		}
	}
	return nil
}

// cutShort tries to keep only the beginning of the schedule and one more step. From there the clients run to their ends
// one after the other.
func (h *shrinker) cutShort(ctx context.Context) error {
	for n := 0; n < len(h.best.Schedule); n++ {
		for first := range h.best.Budget.Clients {
			if n >= len(h.best.Schedule) {
				break
			}
			if _, err := h.try(ctx, h.best.Budget.Clients,
				append(slices.Clone(h.best.Schedule[:n]), interleave.Run(first))); err != nil {
				return err
			}
		}
	}
	return nil
}

// mend tries to make single faults milder: an unanswered command is answered, or time passes only to an earlier
// instant.
func (h *shrinker) mend(ctx context.Context) error {
	for at := 0; at < len(h.best.Schedule); at++ {
		var others []interleave.Choice
		c := h.best.Schedule[at]
		if i, ok := c.Client(); ok && c.Unanswered() {
			others = append(others, interleave.Run(i).Of(c.Thread()))
		}
		if c.IsTime() {
			pass := interleave.Pass
			if c.Kind() == interleave.PassesFine {
				pass = interleave.PassFine
			}
			for n := range c.Number() {
				others = append(others, pass(n))
			}
		}
		for _, other := range others {
			changed := slices.Clone(h.best.Schedule)
			changed[at] = other
			if smaller, err := h.try(ctx, h.best.Budget.Clients, changed); err != nil {
				return err
			} else if smaller {
				break
			}
		}
	}
	return nil
}

// bringForward tries to move each choice to an earlier place, so that there are fewer preemptions or the violation
// shows sooner.
func (h *shrinker) bringForward(ctx context.Context) error {
	for from := 1; from < len(h.best.Schedule); from++ {
		for to := 0; to < from && from < len(h.best.Schedule); to++ {
			moved := slices.Clone(h.best.Schedule)
			c := moved[from]
			moved = slices.Insert(slices.Delete(moved, from, from+1), to, c)
			if _, err := h.try(ctx, h.best.Budget.Clients, moved); err != nil {
				return err
			}
		}
	}
	return nil
}

// try runs a candidate, skipping choices that are not possible, and keeps the result if it is smaller.
func (h *shrinker) try(ctx context.Context, clients int, schedule []interleave.Choice) (smaller bool, err error) {
	if h.spec.symmetric(h.budget) {
		schedule = inOrderOfBegin(schedule)
	}
	budget := h.budget
	budget.Clients = clients
	found, err := h.outcomeOnce(ctx, budget, schedule)
	if found == nil || err != nil || !h.isSmaller(found) {
		return false, err
	}
	h.seen[candidateKey(clients, found.Schedule)] = true
	h.best = found
	return true, nil
}

// outcomeOnce calls outcome unless the candidate was run before or no runs are left. In these cases it returns nil.
func (h *shrinker) outcomeOnce(ctx context.Context, budget interleave.Budget,
	schedule []interleave.Choice) (*findings.Counterexample, error) {
	key := candidateKey(budget.Clients, schedule)
	if h.seen[key] || h.isSpent() {
		return nil, nil
	}
	h.seen[key] = true
	return h.outcome(ctx, budget, schedule)
}

// outcome runs a schedule and returns the resulting counterexample of the class; nil: none.
func (h *shrinker) outcome(ctx context.Context, budget interleave.Budget,
	choices []interleave.Choice) (*findings.Counterexample, error) {
	ex, err := h.run(ctx, budget, func() strategy.Strategy {
		h.runs++
		return &strategy.Follow{Schedule: choices}
	})
	switch {
	case errors.Is(err, schedule.ErrStopped), errors.Is(err, errDisturbed):
		return nil, nil // such as one that does not end
	case err != nil:
		return nil, err
	case ex.replicationStopped || ex.GrantedFree != "":
		return nil, nil
	}
	var first *findings.Counterexample
	o := ex.outcome()
	for _, a := range o.Judge(ctx, h.spec.Checkers).Anomalies {
		c := &findings.Counterexample{Budget: ex.budget.Without(ex.remaining), Schedule: o.Path, Class: a.Class,
			Length: findings.LengthUntil(o.Times, a.To)}
		if a.Class == h.class && (first == nil || c.Smaller(first)) {
			first = c
		}
	}
	return first, nil
}

// isSmaller reports whether a counterexample is smaller than the best: in clients, then steps, faults and preemptions.
func (h *shrinker) isSmaller(c *findings.Counterexample) bool {
	return cmp.Or(
		cmp.Compare(c.Budget.Clients, h.best.Budget.Clients),
		cmp.Compare(c.Length, h.best.Length),
		cmp.Compare(c.Budget.Faults(), h.best.Budget.Faults()),
		cmp.Compare(countSwitches(c.Schedule), countSwitches(h.best.Schedule)),
	) < 0
}

// countSwitches counts how often the client changes from one step to the next.
func countSwitches(schedule []interleave.Choice) (n int) {
	last := -1
	for _, c := range schedule {
		if i, ok := c.Client(); ok {
			if last >= 0 && i != last {
				n++
			}
			last = i
		}
	}
	return n
}

// withoutClient removes the choices of one client, and lowers the numbers of later clients by one.
func withoutClient(schedule []interleave.Choice, gone int) (out []interleave.Choice) {
	for _, c := range schedule {
		i, ok := c.Client()
		switch {
		case ok && i == gone:
		case ok && i > gone:
			out = append(out, c-1)
		default:
			out = append(out, c)
		}
	}
	return out
}

// inOrderOfBegin renumbers interchangeable clients in the order in which they begin.
func inOrderOfBegin(schedule []interleave.Choice) []interleave.Choice {
	names := map[int]int{}
	out := slices.Clone(schedule)
	for at, c := range out {
		if i, ok := c.Client(); ok {
			if _, known := names[i]; !known {
				names[i] = len(names)
			}
			out[at] = c - interleave.Choice(i) + interleave.Choice(names[i])
		}
	}
	return out
}

// candidateKey identifies a candidate among those that were run.
func candidateKey(clients int, schedule []interleave.Choice) string {
	b := make([]byte, 0, 1+2*len(schedule))
	b = append(b, byte(clients))
	for _, c := range schedule {
		b = append(b, byte(c), byte(c>>8))
	}
	return string(b)
}
