package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/frontier"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file makes the result of a search.

// result returns the result so far, without counterexamples and situations.
func (s *search) result(worlds []*world, background string) interleave.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := interleave.Result{
		Schedules: s.seen.Schedules, Pruned: s.seen.Pruned, Steps: s.seen.Steps, Stopped: s.stopped,
		First: s.untilFirst, Elapsed: s.elapsed, Budget: s.parts[0].Budget, Parts: s.parts,
	}
	s.promise(&r)
	if s.seen.Coverage.WakesCut {
		r.Limits = append(r.Limits, "in one schedule at most one time-out, or sleep of a client with goroutines, "+
			"ended while others could go on")
	}
	if unfinished := s.unfinished(); unfinished != "" {
		r.Limits = append(r.Limits, unfinished)
	}
	if s.limitsClients {
		r.Limits = append(r.Limits, fmt.Sprintf("3 clients or more: clients wait or have their own goroutines, so "+
			"the search has %d (--clients 3 asks for more, and may take long)", fewerClients))
	}
	found := len(s.seen.Counterexamples) > 0
	if s.stopped == interleave.DrawnAtRandom && !found && s.seen.Random.Drawn >= enoughToTell {
		r.Stopped = cmp.Or(s.vacuous(worlds, background), r.Stopped)
	}
	r.Exhausted = r.Stopped == "" && s.failure == nil
	if r.Exhausted && !found {
		r.Stopped = s.vacuous(worlds, background)
		r.Exhausted = r.Stopped == ""
	}
	if background != "" && s.stopped != "" && !found {
		r.Stopped += " (it does something by itself: " + background + ")"
	}
	if s.asymmetry != "" {
		r.Limits = append(r.Limits, "the promise that clients differ in their names only, which does not hold ("+
			s.asymmetry+"): clients begin in every order")
	}
	if s.spec.Program.RealClock {
		r.Limits = append(r.Limits, "the clients read the machine's clock, so time did not pass, and it was not "+
			"checked whether everything is free in the end")
	}
	if why := worlds[0].WhyNoClock; why != "" {
		r.Limits = append(r.Limits, "the servers' clocks could not be set ("+why+"): leases end early to an eighth, "+
			"and none was in its last millisecond")
	}
	return r
}

// addFindings runs counterexamples and situations again and adds them to the result.
func (s *search) addFindings(ctx context.Context, w *world, res *interleave.Result) (err error) {
	if err = s.shrinkFound(ctx, w); err != nil {
		return err
	}
	if err = s.orderFound(ctx, w); err != nil {
		return err
	}
	if err = s.addCounterexamples(ctx, w, res); err != nil {
		return err
	}
	res.Situations, err = s.rerunSituations(ctx, w)
	return err
}

// checkPieces asks whether the results of pieces are reliable.
func (s *search) checkPieces(ctx context.Context) {
	if s.spec.Pieces == nil || s.spec.Pieces.CheckResults == nil {
		return
	}
	if err := s.spec.Pieces.CheckResults(ctx); err != nil && ctx.Err() == nil {
		s.stop(err.Error())
	}
}

// What follows collects the situations that schedules meet. Checkers see some of them in the history; the explorer
// causes the others.

// noteSituation adds a situation that the explorer caused.
func (ex *execution) noteSituation(name harness.SituationName) {
	ex.situations = append(ex.situations, name)
}

// rerunSituations runs the shortest schedule of each situation again, and returns the situations with their steps.
func (s *search) rerunSituations(ctx context.Context, w *world) (all []interleave.Situation, err error) {
	r := newRunner(s.spec, w)
	for _, name := range slices.Sorted(maps.Keys(s.seen.Encounters)) {
		e := s.seen.Encounters[name]
		situation := interleave.Situation{Situation: e.Situation}
		if e.Count > 0 {
			situation.Steps, err = r.stepsOf(context.WithoutCancel(ctx), e.Budget, e.Schedule)
			// the verdict reports these two
			if err != nil && !errors.Is(err, ErrDiverged) && !errors.Is(err, schedule.ErrStopped) {
				return all, err
			}
		}
		all = append(all, situation)
	}
	return all, nil
}

// stepsOf runs a schedule and returns its steps. It returns nil if the machine disturbed every attempt.
func (r runner) stepsOf(ctx context.Context, budget interleave.Budget,
	choices []interleave.Choice) ([]interleave.Step, error) {
	ex, err := r.replay(ctx, budget, choices)
	switch {
	case errors.Is(err, errDisturbed):
		return nil, nil // the machine is too busy to show it
	case err != nil:
		return nil, err
	}
	return ex.trace.Steps, nil
}

// What follows describes, for a search that ended early, what it has covered, what most of the remaining work is, and
// what to ask for instead.

// share counts the planned schedules that have a certain kind of choice, and names the flag that would avoid them.
type share struct {
	of, flag string
	has      func(interleave.Choice) bool
	count    int
}

func shares() []share {
	kind := func(k interleave.Kind) func(interleave.Choice) bool {
		return func(c interleave.Choice) bool { return c.Kind() == k }
	}
	is := func(one interleave.Choice) func(interleave.Choice) bool {
		return func(c interleave.Choice) bool { return c == one }
	}
	return []share{
		{of: "a crash", flag: "--crashes 0", has: interleave.Choice.IsCrash},
		{of: "the end of a lease, or a stop before it", flag: "--expiries 0", has: interleave.Choice.IsTime},
		{of: "a lost answer", flag: "--lost-answers 0", has: kind(interleave.LosesAnswers)},
		{of: "a lost command", flag: "--lost-commands 0", has: kind(interleave.LosesCommands)},
		{of: "a late command", flag: "--late 0", has: kind(interleave.Delays)},
		{of: "a failover", flag: "--failovers 0", has: is(interleave.StopReplication)},
		{of: "a script flush", flag: "--flushes 0", has: is(interleave.FlushScripts)},
		{of: "steps of goroutines or subscriptions", has: func(c interleave.Choice) bool { return c.Thread() > 0 }},
	}
}

// moreTime is the factor by which a search should run longer if its time was up.
const moreTime = 5

// mostShares bounds the shares, and the flags, that are named.
const mostShares = 2

// unfinished says what is left of the unfinished part; empty: nothing, or unknown. The caller holds s.mu.
func (s *search) unfinished() string {
	f, ok := s.source.(*frontier.Branches)
	if !ok || s.stopped == "" || f.Planned() == 0 || s.spec.Pieces != nil {
		return ""
	}
	text := fmt.Sprintf("%d schedules that are planned in part %d of %d (%v), and those that they plan in turn",
		f.Planned(), s.part, max(s.part, len(s.budgets())),
		interleave.Part{Budget: s.budget, Role: s.spec.roleIn(s.budget)})
	all := shares()
	for i := range all {
		all[i].count = f.Count(all[i].has)
	}
	slices.SortStableFunc(all, func(a, b share) int { return b.count - a.count })
	var have, flags []string
	if s.budget.Clients > 2 {
		flags = append(flags, "--clients 2")
	}
	for _, x := range all {
		if x.count > 0 && len(have) < mostShares {
			have = append(have, fmt.Sprintf("%d %% have %s", 100*x.count/f.Planned(), x.of))
		}
		if x.count > 0 && x.flag != "" && len(flags) < mostShares {
			flags = append(flags, x.flag)
		}
	}
	if len(have) > 0 {
		text += ": " + strings.Join(have, ", ")
	}
	var advice []string
	if s.outOfTime {
		advice = append(advice, fmt.Sprintf("--for %v gives it more time",
			max(time.Second, (moreTime*s.spec.For).Round(time.Second))))
	}
	if len(flags) > 0 {
		advice = append(advice, strings.Join(flags, " and ")+" would leave fewer")
	}
	if len(advice) > 0 {
		text += " (" + strings.Join(advice, "; ") + ")"
	}
	return text
}
