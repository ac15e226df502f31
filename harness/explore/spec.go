package explore

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Spec describes a search. Program and Checkers are required. Zero values of other fields are defaults.
type Spec struct {
	Program  interleave.Program
	Checkers []harness.Checker

	interleave.Bounds // what may happen in one schedule

	// Random draws schedules at random. The search then has one part, with all faults that the parts of another search
	// have. nil: every schedule is run.
	Random *Random
	// number of schedules that are run twice before the search, which ends if a client behaves differently; default 0
	RunTwice int

	// how far the last client's clock is ahead of the others'; negative: that clock is behind
	Skew             time.Duration
	MaxSchedules     int           // schedules after which the search ends; 0: no limit
	For              time.Duration // real time after which the search ends; 0: no limit
	First            bool          // the search ends at the first counterexample, which need not be the smallest
	WithoutReduction bool          // schedules that differ only in the order of independent commands are run as well
	// goroutines that run schedules, each with its own Redis; default 2. If schedules are run from memory, one
	// goroutine runs them and the others judge
	Workers       int
	WithoutMemory bool          // every schedule is run live, without memory and without looking up states
	forgetful     bool          // every schedule is run live, but states are looked up
	anyNumber     bool          // the user has not asked for a number of clients
	stuck         chan struct{} // for tests: a client that will not park sends on this channel, and is not awaited
	Redis         string        // path of the redis-server binary; default: the one that cluster.FindRedis finds

	// Pieces makes others do the search in pieces; Workers is ignored then. The result does not depend on who does
	// them. Its counts may differ from those of a search without pieces, and a limit of schedules takes effect when the
	// piece that reaches it is done. nil: no pieces.
	Pieces *Pieces
	// Resume continues a search. MaxSchedules and For count only what follows. nil: the search starts from the
	// beginning.
	Resume *Checkpoint
	// OnCheckpoint is called after the last schedule, or when the search ends early, before counterexamples are run
	// again. In a search in pieces it is also called about every two seconds. An error ends the search. May be nil.
	OnCheckpoint func(*Checkpoint) error

	// OnProgress is called four times a second while schedules are run, and after the last. Calls do not overlap. A
	// slow call delays only the next one and the end of the search. May be nil.
	OnProgress func(Progress)
}

// ShortestLease is the shortest lease that a program may have: Redis's unit of time.
const ShortestLease = time.Millisecond

// longestLease returns the longest lease that a program may have. All the time that passes in a schedule has to fit
// into a time.Duration, 292 years: one lease for each expiry, and four more, such as in Program.Finally.
func (s Spec) longestLease() time.Duration {
	return (math.MaxInt64 / time.Duration(s.Expiries+4)).Truncate(time.Hour)
}

// ErrSpec marks a Spec that cannot be searched.
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
		return refuse("%d goroutines of one process need a constructor of the value that they "+
			"share", s.Program.Goroutines)
	case s.Program.Gate > interleave.Unix:
		return refuse("gate %d is not known", s.Program.Gate)
	case s.Program.Gate != interleave.InProcess && !s.Program.NoBackgroundWork:
		return refuse("what an adapter does in the background cannot be observed: let it promise " +
			"NoBackgroundWork")
	case s.Program.RealClock && (s.Expiries > 0 || s.Skew != 0):
		return refuse("the program reads the machine's clock, which does not pass as the schedule's does: leave out " +
			"what time brings about (--expiries 0), or let it ask for the time, or have its clock preloaded " +
			"(workloads/adapters/README.md)")
	case s.Program.Lease <= 0:
		return refuse("the program has no lease")
	case s.Program.Lease < ShortestLease || s.Program.Lease > s.longestLease():
		return refuse("a lease of %v: with expiries of %d ask for %v to %v", s.Program.Lease, s.Expiries,
			ShortestLease, s.longestLease())
	case len(s.Checkers) == 0:
		return refuse("no checkers, so nothing would be judged")
	case s.Random == nil && (s.Clients < 2 || s.Clients > interleave.MaxExhaustive):
		return refuse("%d clients: ask for 2 to %d, or for schedules at random with up to %d", s.Clients,
			interleave.MaxExhaustive, interleave.MaxClients)
	case s.Clients < 2 || s.Clients > interleave.MaxClients:
		return refuse("%d clients: ask for 2 to %d", s.Clients, interleave.MaxClients)
	case s.Failovers < 0 || s.Failovers > 1:
		return refuse("%d failovers: there is only one replica to promote: ask for 0 or 1", s.Failovers)
	case s.Late > interleave.MaxPerKind:
		return refuse("%d late commands: ask for at most %d", s.Late, interleave.MaxPerKind)
	case s.RunTwice < 0:
		return refuse("%d schedules to run twice: ask for 0 or more", s.RunTwice)
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

// symmetric reports whether the clients of a part are interchangeable, as Program.Symmetric promises. They are not
// interchangeable if the last client's clock is ahead or behind, or if one client does something else than the others.
func (s Spec) symmetric(b interleave.Budget) bool {
	return s.Program.Symmetric && s.Skew == 0 && !s.isApart(b)
}

// inOneOrder reports whether the clients of a part begin in one order only, since they are interchangeable. If not, the
// search tries every order.
func (s Spec) inOneOrder(part interleave.Budget) bool {
	return s.symmetric(part) && !s.WithoutReduction
}

// budgets returns the budgets of the parts of the search, in their order.
func (s Spec) budgets() []interleave.Budget {
	base := s.Budget()
	if s.Random != nil {
		base.Approaches = s.Expiries
		if s.EveryPart() {
			base.LostAnswers, base.Late = 1, 1
		}
		return []interleave.Budget{base} // with what the other parts of a search have
	}
	if !s.EveryPart() {
		base.Approaches = s.Expiries
		return []interleave.Budget{base}
	}
	fewer := interleave.Budget{Clients: 2, Expiries: s.Expiries, Place: interleave.MaxExhaustive - 2}
	lost, late := fewer, fewer
	lost.LostAnswers, late.Late = 1, 1
	approach := interleave.Budget{Clients: s.Clients, Expiries: s.Expiries, Approaches: s.Expiries}
	all := []interleave.Budget{base, approach, lost, late}
	if s.Expiries == 0 {
		all = []interleave.Budget{base, lost, late}
	}
	for _, place := range s.Program.SpecialPlaces {
		all = append(all, interleave.Budget{Clients: 2, Crashes: s.Crashes, Expiries: s.Expiries, Place: place - 1})
	}
	return all
}

// fit returns s with at least the clients and failovers of the counterexample.
func (s Spec) fit(c interleave.Counterexample) Spec {
	if c.Budget.Clients > 0 {
		s.Clients, s.Failovers = max(s.Clients, c.Budget.Clients), max(s.Failovers, c.Budget.Failovers)
	}
	if s.Clients > interleave.MaxExhaustive && s.Random == nil { // only random schedules have so many clients
		s.Random = &Random{Schedules: 1}
	}
	return s
}

// replayBudget returns the budget for replaying the counterexample.
func (s Spec) replayBudget(c interleave.Counterexample) interleave.Budget {
	if c.Budget.Clients > 0 {
		return c.Budget
	}
	return s.budgets()[0]
}

// manySchedules is a limit for the first part. If the part has more schedules, later parts are made smaller or left
// out, so that they do not take too long: see fitToFirstPart and search.stopsApart.
const manySchedules = 3000

// fitToFirstPart returns the budget b of a later part. It lowers the number of clients to two if the part would take
// too long: if b lets time pass to instants shortly before the end of a lease, and the first part had more than
// manySchedules schedules.
func fitToFirstPart(b interleave.Budget, schedules int) interleave.Budget {
	if b.Approaches > 0 && schedules > manySchedules {
		b.Clients = 2
	}
	return b
}

// roleIn describes what a part's special client does (see isApart); empty: the part has none.
func (s Spec) roleIn(b interleave.Budget) string {
	if !s.isApart(b) {
		return ""
	}
	return s.Program.Roles[placeOf(b, 1)]
}

// isApart reports whether one client of the part does something else than the others: see Program.SpecialPlaces.
func (s Spec) isApart(b interleave.Budget) bool {
	return slices.Contains(s.Program.SpecialPlaces, placeOf(b, 1))
}
