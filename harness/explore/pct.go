package explore

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file draws one schedule at random by PCT: Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with
// Probabilistic Guarantees of Finding Bugs", ASPLOS 2010.

// pct decides the choices of one schedule. Each actor has a priority drawn at random, and of those that can take a step the one with
// the highest does. At depth-1 steps drawn at random, the actor that took the step falls below all others. The faults are
// drawn before: how many of the budget, which of them, and the step from which on each happens as soon as it can.
type pct struct {
	rng      *rand.Rand
	priority map[int]float64 // of each actor: positive as drawn, negative when it has fallen
	inOrder  bool            // actors stand for each other: they get their priorities in their order, the highest first
	falls    []int           // falls[i]: the number of steps after which an actor falls to the priority -1-i
	faults   []placedFault   // those that have not happened yet, in the order of their places
}

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
)

// follows maps a kind of fault to the one that has to come after it, at a place of its own.
var follows = map[faultKind]faultKind{stopsReplication: promotes, delays: arrives}

// drawPCT draws the priorities and places of one schedule. steps is the length that schedules have at most, as far as is known;
// 0: nothing is known, so nobody falls and nothing goes wrong.
func drawPCT(rng *rand.Rand, depth, steps int, budget interleave.Budget, inOrder bool) *pct {
	p := &pct{rng: rng, priority: map[int]float64{}, inOrder: inOrder}
	if steps == 0 {
		return p
	}
	for range depth - 1 {
		p.falls = append(p.falls, 1+rng.IntN(steps))
	}
	possible := faultsOf(budget)
	rng.Shuffle(len(possible), func(i, j int) { possible[i], possible[j] = possible[j], possible[i] })
	for _, kind := range possible[:rng.IntN(len(possible)+1)] {
		place := rng.IntN(steps)
		if next, ok := follows[kind]; ok {
			other := rng.IntN(steps)
			p.faults = append(p.faults, placedFault{next, max(place, other)})
			place = min(place, other)
		}
		p.faults = append(p.faults, placedFault{kind, place})
	}
	slices.SortStableFunc(p.faults, func(a, b placedFault) int { return cmp.Compare(a.place, b.place) })
	return p
}

// faultsOf lists the faults of a budget, one for each time that it may happen.
func faultsOf(b interleave.Budget) (all []faultKind) {
	for _, of := range []struct {
		n    int
		kind faultKind
	}{
		{b.Crashes, crashes}, {b.Expiries, passesBeyond}, {b.Approaches, passesToLast}, {b.Failovers, stopsReplication}, {b.Flushes, flushesScripts},
		{b.LostAnswers, losesAnswer}, {b.LostCommands, losesCommand}, {b.Late, delays},
	} {
		for range of.n {
			all = append(all, of.kind)
		}
	}
	return all
}

// actorOf returns the actor that takes a step by the choice: a thread of a client. ok is false if the choice is no step of an actor.
func actorOf(c interleave.Choice) (actor int, ok bool) {
	if c.Kind() != interleave.Runs {
		return 0, false
	}
	return c.Number() + interleave.MaxPerKind*c.Thread(), true
}

// priorityOf returns the priority of an actor, and draws it when the actor is seen for the first time.
func (p *pct) priorityOf(actor int) float64 {
	if _, ok := p.priority[actor]; !ok {
		p.priority[actor] = 1 + p.rng.Float64()
		if p.inOrder && actor < interleave.MaxPerKind { // its client's first thread
			p.priority[actor] = 1 / float64(1+actor)
		}
	}
	return p.priority[actor]
}

// pick returns the next choice of a schedule that has taken that many steps. moves is not empty. beyondEnd tells which passing of
// time goes beyond the end of a lease, and not to its last millisecond only.
func (p *pct) pick(moves []move, taken int, beyondEnd func(interleave.Choice) bool) interleave.Choice {
	next, ok := p.highest(moves)
	for i, f := range p.faults {
		if f.place > taken {
			break
		}
		if c, can := p.fault(f.kind, moves, next, beyondEnd); can {
			p.faults = slices.Delete(p.faults, i, i+1)
			return c
		}
	}
	if !ok { // all that is left is late commands, or whatever the world has to do
		return moves[p.rng.IntN(len(moves))].choice
	}
	return next
}

// took notes the choice that was taken, which was that many steps from the beginning. An actor that took it may fall.
func (p *pct) took(c interleave.Choice, taken int) {
	actor, ok := actorOf(c)
	if i := slices.Index(p.falls, taken); ok && i >= 0 {
		p.priority[actor] = float64(-1 - i)
	}
}

// highest returns the step of the actor with the highest priority. ok is false if no actor can take one.
func (p *pct) highest(moves []move) (best interleave.Choice, ok bool) {
	top := 0.0
	for _, m := range moves {
		if actor, is := actorOf(m.choice); is {
			if own := p.priorityOf(actor); !ok || own > top {
				best, top, ok = m.choice, own, true
			}
		}
	}
	return best, ok
}

// fault returns the move by which a fault happens now, drawn at random if there are several. What happens to a command happens to
// that of the actor whose turn it is.
func (p *pct) fault(kind faultKind, moves []move, next interleave.Choice, beyondEnd func(interleave.Choice) bool) (c interleave.Choice, ok bool) {
	var all []interleave.Choice
	for _, m := range moves {
		if kind.matches(m.choice, next, beyondEnd) {
			all = append(all, m.choice)
		}
	}
	if len(all) == 0 {
		return c, false
	}
	return all[p.rng.IntN(len(all))], true
}

// matches reports whether a choice is a fault of the kind. next is the step that the actor whose turn it is would take.
func (k faultKind) matches(c, next interleave.Choice, beyondEnd func(interleave.Choice) bool) bool {
	happensToNext := c.Number() == next.Number() && c.Thread() == next.Thread()
	switch k {
	case crashes:
		return c.IsCrash()
	case passesBeyond:
		return c.IsTime() && beyondEnd(c)
	case passesToLast:
		return c.IsTime() && !beyondEnd(c)
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
	case arrives:
		return c.Kind() == interleave.Arrives
	}
	return false
}
