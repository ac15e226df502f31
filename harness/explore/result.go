package explore

import (
	"cmp"
	"context"
	"fmt"

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

// checkPieces ends the search with the reason if workers disagreed about a piece, or the queue of pieces gave one up.
func (s *search) checkPieces(ctx context.Context) {
	if s.spec.Pieces == nil || s.spec.Pieces.CheckResults == nil {
		return
	}
	if err := s.spec.Pieces.CheckResults(ctx); err != nil && ctx.Err() == nil {
		s.stop(err.Error())
	}
}
