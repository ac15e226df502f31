package strategy

import (
	"math/rand/v2"
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// sampler says whose turn it is in a schedule at random. An actor is a thread of a client: see actorOf.
type sampler interface {
	// pick returns one of the steps that actors can take, or the zero Choice if there is none.
	pick(steps []schedule.Move) interleave.Choice

	// took is told of each move that has happened, which was that many from the beginning, and of the steps that actors
	// could have taken in its place.
	took(did schedule.Move, number int, steps []schedule.Move)
}

// Shape says how schedules are drawn at random.
type Shape struct {
	Strategy string // one of Names; empty: the first
	Depth    int    // of the bugs to look for, for a strategy that promises something about a depth; 1 or more
	Steps    int    // of a schedule at most, as far as is known; 0: nothing is known, so nothing goes wrong
	InOrder  bool   // clients stand for each other, and begin in their order
	Budget   interleave.Budget
}

// samplers holds the strategies that draw schedules at random, by their names. pctBound: the bound of
// PCT holds for it.
var samplers = []struct {
	name     string
	pctBound bool
	draw     func(rng *rand.Rand, shape Shape) sampler
}{
	{"pct", true, drawPCT},
	{"pos", false, drawPOS},
}

// Names lists the strategies that draw schedules at random. The first is the default.
func Names() (all []string) {
	for _, s := range samplers {
		all = append(all, s.name)
	}
	return all
}

// named returns the place of a strategy among the samplers, -1 if there is none of that name. The empty name is that of
// the first.
func named(name string) int {
	if name == "" {
		return 0
	}
	return slices.Index(Names(), name)
}

// Promises reports whether a strategy promises to find bugs up to a depth, by the bound of PCT. The empty name is that
// of the default.
func Promises(name string) bool {
	i := named(name)
	return i >= 0 && samplers[i].pctBound
}

// Random draws one schedule: a sampler decides whose turn it is. The faults are drawn before.
type Random struct {
	Actors   int // actors that could take a step so far
	Instants int // the most instants, at one moment, to which time could pass by one kind of fault

	sampler sampler
	rng     *rand.Rand
	faults  []placedFault   // those that have not happened yet, in the order of their places
	steps   []schedule.Move // that actors can take
	taken   int
	seen    map[int]bool // actors
}

// Draw returns the schedule that the random numbers of rng make. The name of its strategy is one of Names, or empty.
func Draw(rng *rand.Rand, shape Shape) *Random {
	r := &Random{rng: rng, seen: map[int]bool{}}
	r.sampler = samplers[named(shape.Strategy)].draw(rng, shape)
	if shape.Steps > 0 {
		r.faults = drawFaults(rng, shape.Steps, shape.Budget)
	}
	return r
}

// Next returns the first fault whose place is reached and that can happen, or else the step of the actor whose turn it
// is.
func (r *Random) Next(v View) (c interleave.Choice, do Do, err error) {
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

// choose returns one of the moves.
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
	if len(r.steps) == 0 { // all that is left is late commands
		return moves[r.rng.IntN(len(moves))].Choice
	}
	return next
}

// note keeps the steps among the moves, and counts what the promise of a search is made of.
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

// Took tells the sampler what has happened.
func (r *Random) Took(did schedule.Move) {
	r.taken++
	r.sampler.took(did, r.taken, r.steps)
}

// actorOf returns the actor that takes a step by the choice: a thread of a client. ok is false if the choice is no step
// of an actor.
func actorOf(c interleave.Choice) (actor int, ok bool) {
	if c.Kind() != interleave.Runs {
		return 0, false
	}
	return c.Number() + interleave.MaxPerKind*c.Thread(), true
}
