package strategy

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file draws the faults of a random schedule: how many of the budget, which, and the earliest step of each. A
// fault happens as soon as it can from that step on.

// placedFault is a fault of a random schedule, and the earliest step at which it happens.
type placedFault struct {
	kind  faultKind
	place int // at least this many steps come before it
}

// faultKind is what a fault does.
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

// completes lists the faults that happen in two halves, such as replication that stops and then the promotion of a
// replica. It maps the first half to the second.
var completes = map[faultKind]faultKind{stopsReplication: promotes, delays: arrives}

// drawFaults draws the faults of a random schedule, each with its place among the given number of steps. They are
// sorted by place.
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

// faultsOf lists the faults of a budget, each as often as it may happen.
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

// move returns a choice that causes the fault now, drawn at random if there are several. ok is false if there is none.
// The step in the argument next would be taken without a fault: only the command of this step can be lost, late or
// slow.
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

// matches reports whether the choice c is a fault of this kind. A fault that concerns a command, such as a lost answer,
// has to concern the command of the step in the parameter next.
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
	panic("explore: a fault that no choice brings about") // add a case for each new kind
}
