package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/frontier"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Random configures a search that draws its schedules at random, for programs with too many schedules to run all. Its
// verdict is never valid. What it promises if it found nothing is in [interleave.Result.Random]. With the zero value
// Spec.For decides how many are drawn.
type Random struct {
	Strategy string `json:",omitempty"` // one of Strategies; default: the first

	// Schedules is the number of random schedules. 0: as many as Spec.For leaves time for. In that case up to three
	// fifths of the time are first spent on all schedules of 2 clients, and all of 3.
	Schedules int
	// depth of the bugs to look for, 1 to MaxDepth; default 3. Used only if PromisesDepth is true for the strategy
	Depth int
	Seed  uint64 // equal seeds draw equal schedules; default: random, and stated in the result
}

// MaxDepth bounds the depth of the bugs to look for. At this depth the promised probability is too small for any
// search.
const MaxDepth = 10

// Strategies lists how random schedules may be drawn: "pct", probabilistic concurrency testing, and "pos", partial
// order sampling.
func Strategies() []string { return strategy.Names() }

// PromisesDepth reports whether a strategy finds bugs up to a depth with a known probability. An empty name is the
// default.
func PromisesDepth(name string) bool { return strategy.Promises(name) }

const (
	defaultDepth = 3
	mostSeeds    = 1_000_000_000 // drawn seeds are smaller than this, so that people can type them
	longestRound = 512
)

func (r Random) withDefaults(s Spec) (Random, error) {
	if r.Strategy == strategy.Names()[0] {
		r.Strategy = ""
	}
	if r.Depth == 0 && strategy.Promises(r.Strategy) {
		r.Depth = defaultDepth
	}
	if r.Seed == 0 {
		r.Seed = DrawSeed()
	}
	switch {
	case r.Strategy != "" && !slices.Contains(strategy.Names(), r.Strategy):
		return r, fmt.Errorf("unknown strategy %q: choose %s", r.Strategy, strings.Join(strategy.Names(), " "+
			"or "))
	case r.Depth != 0 && !strategy.Promises(r.Strategy):
		return r, fmt.Errorf("a depth of %d: %s guarantees nothing about a depth: leave it out", r.Depth, r.Strategy)
	case r.Schedules < 0:
		return r, fmt.Errorf("%d schedules at random: ask for 1 or more", r.Schedules)
	case r.Schedules == 0 && s.For == 0:
		return r, fmt.Errorf("schedules at random need a limit: say how many, or for how long")
	case strategy.Promises(r.Strategy) && (r.Depth < 1 || r.Depth > MaxDepth):
		return r, fmt.Errorf("bugs of depth %d: ask for 1 to %d", r.Depth, MaxDepth)
	case s.MaxSchedules > 0:
		return r, fmt.Errorf("schedules at random have their own number: leave the bound on schedules out")
	case s.WithoutReduction:
		return r, fmt.Errorf("schedules at random are never pruned: leave WithoutReduction (--unpruned) out")
	}
	return r, nil
}

// DrawSeed returns a seed for Random.
func DrawSeed() uint64 { return 1 + rand.Uint64N(mostSeeds-1) }

// runAtRandom draws and runs schedules in rounds. How a round is drawn depends only on the seed and on the longest
// schedule of earlier rounds, and not on which worker is faster.
func (s *search) runAtRandom(ctx context.Context, worlds []*world) {
	if s.spec.Random.Schedules == 0 && !s.runFewerClients(ctx, worlds) {
		return
	}
	s.mu.Lock()
	s.budget, s.part = s.spec.budgets()[0], len(s.parts)+1
	s.source, s.states, s.memory = &s.draws, nil, nil // random schedules do not look up states
	s.mu.Unlock()
	ran, pruned := s.earlierCounts()
	s.breaksSymmetry(ctx, worlds[0])
	for {
		// the round was drawn with a smaller length, so its schedules do not count for the promise
		if s.seen.Random.Steps > s.draws.KnownSteps {
			s.seen.Random.Counted = 0
		}
		if s.isEnding() {
			break
		}
		if s.draws.Remaining() == 0 && !s.nextRound() {
			s.stop(interleave.DrawnAtRandom)
			break
		}
		if s.spec.Pieces != nil {
			s.drawPieces(context.WithoutCancel(ctx))
		} else {
			s.runSource(ctx, worlds)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, interleave.Part{Budget: s.budget, Schedules: s.seen.Schedules - ran,
		Pruned: s.seen.Pruned - pruned, AtRandom: true})
}

// nextRound begins the next round. ok is false if every schedule was drawn.
func (s *search) nextRound() (ok bool) {
	from := max(1, s.draws.From)
	to := from + min(from, longestRound)
	if n := s.spec.Random.Schedules; n > 0 {
		to = min(to, n+1)
	}
	s.draws.Round = frontier.Round{From: from, To: to, KnownSteps: s.seen.Random.Steps}
	return from < to
}

// runFewerClients runs all schedules of 2 clients, then of 3, each part for a fifth of the time at most. goOn is false
// if the search has ended.
func (s *search) runFewerClients(ctx context.Context, worlds []*world) (goOn bool) {
	until := time.Now().Add(s.spec.For * 3 / 5)
	for _, clients := range []int{2, 3} {
		fewer := *s.spec
		fewer.Random, fewer.Clients = nil, clients
		for _, b := range fewer.budgets() {
			if s.isEnding() || clients >= s.spec.Clients || b.Clients != clients || time.Until(until) <= 0 {
				continue
			}
			if !s.runPartFor(ctx, b, worlds, min(s.spec.For/5, time.Until(until))) {
				return false
			}
		}
	}
	return true
}

// runPartFor runs a part until its time is up. goOn is false if the search has ended.
func (s *search) runPartFor(ctx context.Context, b interleave.Budget, worlds []*world, d time.Duration) (goOn bool) {
	part := len(s.parts)
	limit := time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.partTimeUp = len(s.parts) == part // false if the part has just ended
		s.wake.Broadcast()
	})
	defer limit.Stop()
	s.runPart(ctx, b, worlds)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partTimeUp, s.branches, s.round = false, nil, nil
	return !s.isOver()
}

// draw draws the schedule with the given number. The parameter steps is the length of the longest schedule so far.
func (r Random) draw(spec *Spec, b interleave.Budget, number, steps int) *strategy.Random {
	return strategy.Draw(rand.New(rand.NewPCG(r.Seed, uint64(number))), strategy.Shape{
		Strategy: r.Strategy, Depth: r.Depth, Steps: steps, Budget: b, InOrder: spec.symmetric(b),
	})
}

// promise adds to the result what random schedules promise. The caller holds s.mu.
func (s *search) promise(res *interleave.Result) {
	r := s.spec.Random
	if r == nil {
		return
	}
	res.Budget = s.spec.budgets()[0]
	random := interleave.Random{
		Strategy: r.Strategy, Seed: r.Seed, Depth: r.Depth, Schedules: s.seen.Random.Drawn,
		Counted: s.seen.Random.Counted, Clients: max(res.Budget.Clients, s.seen.Random.Actors),
		Steps: s.seen.Random.Steps, Faults: res.Budget.Faults(), Instants: s.seen.Random.Instants,
	}.Promise()
	res.Random = &random
}

// enoughToTell is the number of random schedules after which the search may say that something, such as a crash, never
// happens.
const enoughToTell = 200

// catchPanics calls f, and returns a panic of the program or a checker as an error.
func catchPanics(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("explore: the program or a checker panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
