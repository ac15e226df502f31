package strategy

import (
	"math/rand/v2"
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// sampler chooses the actor that takes the next step of a random schedule. An actor is a thread of a client: see
// actorOf.
type sampler interface {
	// pick returns one of the possible steps; the zero Choice if there is none.
	pick(steps []schedule.Move) interleave.Choice

	// took tells the sampler which move was made. The parameter number counts moves from 1. The parameter steps lists
	// the actors' steps from which pick has chosen.
	took(did schedule.Move, number int, steps []schedule.Move)
}

// Shape configures random schedules.
type Shape struct {
	Strategy string // one of Names; empty: the default
	Depth    int    // depth of the bugs to look for, 1 or more; used only if the strategy makes a promise by depth
	Steps    int    // the largest number of steps of a schedule; 0: unknown, so no fault or change point is drawn
	InOrder  bool   // clients are interchangeable and begin in order
	Budget   interleave.Budget
}

// samplers holds the random strategies by name. pctBound is true if PCT's bound holds.
var samplers = []struct {
	name     string
	pctBound bool
	draw     func(rng *rand.Rand, shape Shape) sampler
}{
	{"pct", true, drawPCT},
	{"pos", false, drawPOS},
}

// Names lists the random strategies. The first is the default.
func Names() (all []string) {
	for _, s := range samplers {
		all = append(all, s.name)
	}
	return all
}

// named returns the index of a strategy in samplers; -1: there is no strategy of that name. An empty name is the
// default.
func named(name string) int {
	if name == "" {
		return 0
	}
	return slices.Index(Names(), name)
}

// Promises reports whether PCT's bound holds for a strategy: it finds bugs up to a depth with a known probability. An
// empty name is the default.
func Promises(name string) bool {
	i := named(name)
	return i >= 0 && samplers[i].pctBound
}

// Random draws one schedule. Its faults are drawn first; then a sampler chooses whose turn it is.
type Random struct {
	// What the promise of the search depends on: see interleave.Random.
	Actors   int // number of actors that have been able to take a step
	Instants int // the largest number of instants that were possible for one kind of fault at one point

	rng     *rand.Rand
	sampler sampler
	faults  []placedFault // drawn in advance, sorted by place; those that have happened are removed

	// The schedule so far.
	taken int             // number of moves so far
	steps []schedule.Move // steps that are possible now
	seen  map[int]bool    // actors that have been able to take a step
}

// Draw returns the schedule that rng determines. shape.Strategy is one of Names, or empty.
func Draw(rng *rand.Rand, shape Shape) *Random {
	r := &Random{rng: rng, seen: map[int]bool{}}
	r.sampler = samplers[named(shape.Strategy)].draw(rng, shape)
	if shape.Steps > 0 {
		r.faults = drawFaults(rng, shape.Steps, shape.Budget)
	}
	return r
}

// Next returns the first fault that is due and possible, or else the sampler's step.
func (r *Random) Next(v View) (c interleave.Choice, decision Decision, err error) {
	moves, err := v.Moves()
	switch {
	case err != nil:
		return c, Take, err
	case len(moves) == 0:
		return c, end(v), nil
	}
	var instants []schedule.Instant
	if slices.ContainsFunc(moves, func(m schedule.Move) bool { return m.Choice.IsTime() }) {
		if instants, err = v.Instants(); err != nil {
			return c, Take, err
		}
	}
	return r.choose(moves, instants), Take, nil
}

func (r *Random) choose(moves []schedule.Move, instants []schedule.Instant) (next interleave.Choice) {
	r.note(moves, instants)
	next = r.sampler.pick(r.steps)
	for i, f := range r.faults {
		if f.place > r.taken {
			break
		}
		if c, can := f.kind.move(r.rng, moves, next, instants); can {
			r.faults = slices.Delete(r.faults, i, i+1)
			return c
		}
	}
	if len(r.steps) == 0 { // only late commands remain
		return moves[r.rng.IntN(len(moves))].Choice
	}
	return next
}

// note stores those of the moves that are steps of actors, for the sampler. It also updates Actors and Instants, from
// which the search's promise is computed.
func (r *Random) note(moves []schedule.Move, instants []schedule.Instant) {
	r.steps = r.steps[:0]
	for _, m := range moves {
		if actor, ok := actorOf(m.Choice); ok {
			r.steps = append(r.steps, m)
			r.seen[actor] = true
		}
	}
	r.Actors = len(r.seen)
	beyond := 0
	for _, i := range instants {
		if i.BeyondEnd {
			beyond++
		}
	}
	r.Instants = max(r.Instants, beyond, len(instants)-beyond)
}

// Took passes the move on to the sampler.
func (r *Random) Took(did schedule.Move) {
	r.taken++
	r.sampler.took(did, r.taken, r.steps)
}

// actorOf returns the actor, a thread of a client, that takes a step by the choice. ok is false for any other choice.
func actorOf(c interleave.Choice) (actor int, ok bool) {
	if c.Kind() != interleave.Runs {
		return 0, false
	}
	return c.Number() + interleave.MaxPerKind*c.Thread(), true
}
