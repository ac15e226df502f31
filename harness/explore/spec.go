package explore

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Spec describes a search. Program and Checkers are needed; the zero value of any other field means its default.
type Spec struct {
	Program  interleave.Program
	Checkers []harness.Checker

	interleave.Bounds // what may happen in one schedule

	// Random draws schedules at random. The search then has one part with all that the four parts have. nil: every
	// schedule is run.
	Random *Random
	// schedules that are run twice before the search, which ends there if a client does not do the same; default 0
	Twice int

	Skew         time.Duration // lead of the last client's clock over the others'; negative: it is behind
	MaxSchedules int           // schedules after which the search stops; 0: no limit
	For          time.Duration // real time after which the search stops; 0: no limit
	First        bool          // stop at the first counterexample, which need not be the smallest
	Unreduced    bool          // run schedules that differ only in the order of independent commands, too
	// goroutines that run schedules, each on a Redis of its own; default 2. Where schedules are run from memory, one
	// does and the others judge
	Workers      int
	Unremembered bool          // really run every schedule, and none from memory, and look for no states
	forgetful    bool          // really run every schedule, and look for states all the same
	anyNumber    bool          // nobody has asked for a number of clients
	stuck        chan struct{} // for tests: a client that will not park sends on it, and is not waited for
	Redis        string        // path of the redis-server binary; default: the one that cluster.FindRedis finds

	// Pieces lets the search work in pieces, which others do: Workers does not count then. Its result is the same
	// whoever does them, but may differ in counts from that of a search that is not in pieces, and a limit of schedules
	// ends it when the piece that reaches it is done. nil: it is not in pieces.
	Pieces *Pieces
	// Resume is where the search goes on. MaxSchedules and For count from there. nil: it begins.
	Resume *Checkpoint
	// OnCheckpoint is called when all schedules were run, or the search ended early, before its counterexamples are run
	// again. In a search in pieces it is called every two seconds as well, as pieces are done. An error ends the
	// search. nil: nobody is told.
	OnCheckpoint func(*Checkpoint) error

	// OnProgress is called four times a second while schedules are run, and when the last has ended. It is never called
	// twice at one time, and holds nothing up but its next call and the end of the search. nil: nobody is told.
	OnProgress func(Progress)
}

// ShortestLease is the shortest lease that a program may have: Redis's unit of time.
const ShortestLease = time.Millisecond

// longestLease returns the longest lease that a program may have. All time that passes in one schedule has to fit into
// a time.Duration, 292 years. In a schedule up to four more leases than may expire go by, such as those in
// Program.Finally.
func (s Spec) longestLease() time.Duration {
	return (math.MaxInt64 / time.Duration(s.Expiries+4)).Truncate(time.Hour)
}

// ErrSpec marks a Spec that cannot be searched as it stands.
var ErrSpec = errors.New("this cannot be explored")

func (s Spec) withDefaults() (Spec, error) {
	s.anyNumber = s.Clients == 0
	s.Bounds = s.OrDefaults()
	s.Workers = cmp.Or(s.Workers, 2)
	refuse := func(format string, args ...any) (Spec, error) {
		return s, fmt.Errorf("%w: %s", ErrSpec, fmt.Sprintf(format, args...))
	}
	switch {
	case s.Program.Gate == interleave.InProcess && s.Program.Open == nil,
		s.Program.Gate != interleave.InProcess && s.Program.OpenAt == nil:
		return refuse("the program has no clients")
	case s.Program.Goroutines > 1 && (s.Program.Process == nil || s.Program.Gate != interleave.InProcess):
		return refuse("%d goroutines of one process, and nobody makes what they share", s.Program.Goroutines)
	case s.Program.Gate > interleave.Unix:
		return refuse("gate %d is not known", s.Program.Gate)
	case s.Program.Gate != interleave.InProcess && !s.Program.NoBackgroundWork:
		return refuse("nobody can see from here what a program outside does in the background: let it promise " +
			"NoBackgroundWork")
	case s.Program.RealClock && (s.Expiries > 0 || s.Skew != 0):
		return refuse("the program reads the machine's clock, which does not pass as the schedule's does: leave out " +
			"what time brings about (--expiries 0), " +
			"or let it ask for the time, or have its clock preloaded (workloads/clients/README.md)")
	case s.Program.Lease <= 0:
		return refuse("the program has no lease")
	case s.Program.Lease < ShortestLease || s.Program.Lease > s.longestLease():
		return refuse("a lease of %v: with expiries of %d ask for %v to %v", s.Program.Lease, s.Expiries,
			ShortestLease, s.longestLease())
	case len(s.Checkers) == 0:
		return refuse("no checkers, so nothing would be judged")
	case s.Random == nil && (s.Clients < 2 || s.Clients > interleave.MaxExhaustive):
		return refuse("%d clients: ask for 2 to %d, or for schedules at random of up to %d", s.Clients,
			interleave.MaxExhaustive, interleave.MaxClients)
	case s.Clients < 2 || s.Clients > interleave.MaxClients:
		return refuse("%d clients: ask for 2 to %d", s.Clients, interleave.MaxClients)
	case s.Failovers < 0 || s.Failovers > 1:
		return refuse("%d failovers: there is one replica to promote, so ask for 0 or 1", s.Failovers)
	case s.Late > interleave.MaxPerKind:
		return refuse("%d late commands: a schedule has room for %d", s.Late, interleave.MaxPerKind)
	case s.Twice < 0:
		return refuse("%d schedules to run twice: ask for 0 or more", s.Twice)
	case s.Flushes < 0 || s.MaxSchedules < 0 || s.For < 0 || s.Workers < 0:
		return refuse("flushes, limits and workers cannot be negative")
	}
	if s.Random != nil {
		random, err := s.Random.withDefaults(s)
		if err != nil {
			return refuse("%v", err)
		}
		s.Random = &random
	}
	if p := s.Pieces; p != nil {
		if p.Run == nil || p.Workers < 1 || p.Workers > MaxWorkers {
			return refuse("%d workers for pieces: ask for 1 to %d, and say what they do", p.Workers, MaxWorkers)
		}
		s.Workers = 1
	}
	if err := s.checkResume(); err != nil {
		return refuse("%v", err)
	}
	return s, nil
}

// symmetric reports whether the clients of a part stand for each other. One that does something else stands for nobody.
func (s Spec) symmetric(b interleave.Budget) bool {
	return s.Program.Symmetric && s.Skew == 0 && !s.isApart(b)
}

// inOneOrder reports whether the clients of a part begin in one order only, since they stand for each other. If not,
// the search runs every order in which they can begin.
func (s Spec) inOneOrder(part interleave.Budget) bool {
	return s.symmetric(part) && !s.Unreduced
}

// budgets returns the budgets of the parts of the search, in their order.
func (s Spec) budgets() []interleave.Budget {
	base := s.Budget()
	if s.Random != nil {
		return []interleave.Budget{s.randomBudget(base)}
	}
	if !s.EveryPart() {
		base.Approaches = s.Expiries
		return []interleave.Budget{base}
	}
	fewer := interleave.Budget{Clients: 2, Expiries: s.Expiries, Place: interleave.MaxExhaustive - 2}
	lost, late := fewer, fewer
	lost.LostAnswers, late.Late = 1, 1
	near := interleave.Budget{Clients: s.Clients, Expiries: s.Expiries, Approaches: s.Expiries}
	all := []interleave.Budget{base, near, lost, late}
	if s.Expiries == 0 {
		all = []interleave.Budget{base, lost, late}
	}
	for _, place := range s.Program.Apart {
		all = append(all, interleave.Budget{Clients: 2, Crashes: s.Crashes, Expiries: s.Expiries, Place: place - 1})
	}
	return all
}

// fit returns s with as many clients and failovers as the counterexample has.
func (s Spec) fit(c interleave.Counterexample) Spec {
	if c.Budget.Clients > 0 {
		s.Clients, s.Failovers = max(s.Clients, c.Budget.Clients), max(s.Failovers, c.Budget.Failovers)
	}
	if s.Clients > interleave.MaxExhaustive && s.Random == nil { // schedules at random alone have so many
		s.Random = &Random{Schedules: 1}
	}
	return s
}

// replayBudget returns the budget under which the counterexample can be replayed.
func (s Spec) replayBudget(c interleave.Counterexample) interleave.Budget {
	if c.Budget.Clients > 0 {
		return c.Budget
	}
	return s.budgets()[0]
}

// manySchedules is the number of schedules of the first part above which the part of last instants has two clients
// only.
const manySchedules = 3000

// fitToFirstPart returns the budget of a part, fitted to the number of schedules that the first part had.
func fitToFirstPart(b interleave.Budget, schedules int) interleave.Budget {
	if b.Approaches > 0 && schedules > manySchedules {
		b.Clients = 2
	}
	return b
}

// isApart reports whether the part has a client that does something else: see Program.Apart.
func (s Spec) isApart(b interleave.Budget) bool {
	return slices.Contains(s.Program.Apart, placeOf(b, 1))
}

// after implements interleave.After for a schedule.
type after struct{ ex *live }

func (a after) Ops() []harness.Op {
	defer a.ex.w.takeTurn()()
	a.ex.observationAsks(model.Ask{Kind: model.AsksOps})
	a.ex.observationHears(model.Event{Kind: model.Finishes, Text: canonicalOps(a.ex.ops)})
	return a.ex.ops
}

func (a after) OwnerRefused() bool {
	defer a.ex.w.takeTurn()()
	refused := a.ex.ownerRefused()
	a.ex.observationAsks(model.Ask{Kind: model.AsksOwnerRefused})
	a.ex.observationHears(model.Event{Kind: model.Finishes, Text: strconv.FormatBool(refused)})
	return refused
}

func (a after) Pass(d time.Duration) error {
	return a.pass(model.AsksPass, d)
}

func (a after) pass(kind model.AskKind, d time.Duration) error {
	defer a.ex.w.takeTurn()()
	a.ex.observationAsks(model.Ask{Kind: kind, For: d})
	a.ex.observationHears(model.Event{Kind: model.Passed})
	return a.ex.passBeside(a.ex.now+d, func() bool { return false })
}

func (a after) PassAll(d time.Duration) (left int, err error) {
	if err := a.pass(model.AsksPassAll, d); err != nil {
		return 0, err
	}
	defer a.ex.w.takeTurn()()
	left, err = a.ex.w.CountKeys()
	a.ex.observationHears(model.Event{Kind: model.Passed, Text: strconv.Itoa(left)})
	return left, err
}
