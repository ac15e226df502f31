package strategy

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file draws what goes wrong in a schedule at random: how many faults of the budget, which of them, and the step
// from which on each happens as soon as it can.

// placedFault is a fault that happens at the first step, from place on, at which it can.
type placedFault struct {
	kind  faultKind
	place int // steps before it, at least
}

// faultKind says what a fault does.
type faultKind uint8

const (
	crashes faultKind = iota
	passesBeyond
	passesToLast
	stopsReplication
	promotes
	flushesScripts
	losesAnswer
	losesCommand
	delays
	arrives
	slows
)

// completes maps a kind of fault to the one that completes it later, at a place of its own.
var completes = map[faultKind]faultKind{stopsReplication: promotes, delays: arrives}

// drawFaults draws the faults of a schedule of so many steps, in the order of their places.
func drawFaults(rng *rand.Rand, steps int, budget interleave.Budget) (faults []placedFault) {
	possible := faultsOf(budget)
	rng.Shuffle(len(possible), func(i, j int) { possible[i], possible[j] = possible[j], possible[i] })
	for _, kind := range possible[:rng.IntN(len(possible)+1)] {
		place := rng.IntN(steps)
		if next, ok := completes[kind]; ok {
			other := rng.IntN(steps)
			faults = append(faults, placedFault{next, max(place, other)})
			place = min(place, other)
		}
		faults = append(faults, placedFault{kind, place})
	}
	slices.SortStableFunc(faults, func(a, b placedFault) int { return cmp.Compare(a.place, b.place) })
	return faults
}

// faultsOf lists the faults of a budget, one for each time that it may happen.
func faultsOf(b interleave.Budget) (all []faultKind) {
	for _, of := range []struct {
		n    int
		kind faultKind
	}{
		{b.Crashes, crashes}, {b.Expiries, passesBeyond}, {b.Approaches, passesToLast}, {b.Failovers, stopsReplication},
		{b.Flushes, flushesScripts},
		{b.LostAnswers, losesAnswer}, {b.LostCommands, losesCommand}, {b.Late, delays}, {b.SlowScripts(), slows},
	} {
		for range of.n {
			all = append(all, of.kind)
		}
	}
	return all
}

// move returns the move by which a fault happens now, drawn at random if there are several. What happens to a command
// happens to that of the actor whose turn it is, which would take next.
func (k faultKind) move(rng *rand.Rand, moves []schedule.Move, next interleave.Choice,
	instants []schedule.Instant) (c interleave.Choice, ok bool) {
	var all []interleave.Choice
	for _, m := range moves {
		if k.matches(m.Choice, next, instants) {
			all = append(all, m.Choice)
		}
	}
	if len(all) == 0 {
		return c, false
	}
	return all[rng.IntN(len(all))], true
}

// matches reports whether a choice is a fault of the kind.
func (k faultKind) matches(c, next interleave.Choice, instants []schedule.Instant) bool {
	happensToNext := c.Number() == next.Number() && c.Thread() == next.Thread()
	switch k {
	case crashes:
		return c.IsCrash()
	case passesBeyond, passesToLast:
		return slices.ContainsFunc(instants, func(t schedule.Instant) bool {
			return t.Choice == c && t.BeyondEnd == (k == passesBeyond)
		})
	case stopsReplication:
		return c == interleave.StopReplication
	case promotes:
		return c == interleave.Promote
	case flushesScripts:
		return c == interleave.FlushScripts
	case losesAnswer:
		return c.Kind() == interleave.LosesAnswers && happensToNext
	case losesCommand:
		return c.Kind() == interleave.LosesCommands && happensToNext
	case delays:
		return c.Kind() == interleave.Delays && happensToNext
	case slows:
		return c.Kind() == interleave.Slows && happensToNext
	case arrives:
		return c.Kind() == interleave.Arrives
	}
	panic("explore: a fault that no choice brings about") // a kind that was added has a case here
}
