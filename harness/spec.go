package harness

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"time"
)

// Spec says what to run. Zero values of optional fields stand for the defaults named beside the fields.
type Spec struct {
	Name     string // name in reports; default: the workload's name
	System   System
	Workload Workload
	Checkers []Checker

	Clients      int           // number of concurrent clients of Workload; default 10
	Duration     time.Duration // least duration of the load; faults still in force extend it; default 5s
	Rate         float64       // steps a second that all clients together aim at; 0: as fast as they can
	OpenLoop     bool          // true: steps have set times, however late others are; false: clients wait between steps
	Seed         uint64        // seed of every random choice; 0: the run chooses one, see Meta.Seed
	Riders       []Rider       // further workloads beside the main one
	FinalTimeout time.Duration // bounds the final reads, which may have to wait for leases to end; default 30s

	Faults      []TimedFault   // faults to inject, one after the other
	Tracks      [][]TimedFault // further sequences of faults, each beside Faults
	QuietPeriod time.Duration  // load without faults before each fault and after the last; default 2s
	Fleet       *Fleet         // lets nemeses strike the clients themselves; nil: no nemesis does
	Generators  []Generator    // each drives its share of the clients elsewhere; empty: all clients are in this process
	Drift       float64        // fraction by which a clock may run too fast or too slow; default 0.01, as in Redlock

	// Watchers see the record while it grows, unless they fall far behind. They do not decide the verdict.
	Watchers []Checker
	// OnAnomaly is called at once, never concurrently, with each violation that a watcher finds, and the time on the run's
	// clock. It must not block.
	OnAnomaly func(Anomaly, time.Duration)
	// StopOnFirst ends the load at the first violation that a watcher finds, as if its time were over.
	StopOnFirst bool

	// Quota returns a watcher that calls the given function, from any goroutine, when the load has recorded enough.
	// After that the load ends once all faults have had their time, and after Duration at the latest. If the watcher is
	// still Lacking something at the end, the verdict is never valid. nil: the load lasts for Duration.
	Quota func(enough func()) Quota

	Labels   map[string]string // copied into Meta
	Store    Store             // where the history goes; default: memory
	Log      *slog.Logger      // default: silent
	Progress func(Progress)    // called about once a second while the load runs
}

// Quota is a Checker that reads a history while it is recorded, and decides when the load has met each situation often
// enough.
type Quota interface {
	Checker
	// Lacking says what there was too little of. It is empty if there was enough. It is called after the last
	// operation.
	Lacking() string
}

// Progress holds the figures of a run that is under way.
type Progress struct {
	Elapsed        time.Duration // time since the load began
	OK, Fail, Info int64         // numbers of operations so far, by outcome
	Violations     int64         // number of violations that watchers have found so far
	Fault          string        // the faults in force; empty: none
}

// ErrSpec marks a Spec that cannot be run.
var ErrSpec = errors.New("bad spec")

func (s Spec) withDefaults() (Spec, error) {
	switch {
	case s.System == nil:
		return s, fmt.Errorf("harness: %w: System is nil", ErrSpec)
	case s.Workload == nil:
		return s, fmt.Errorf("harness: %w: Workload is nil", ErrSpec)
	case len(s.Checkers) == 0:
		return s, fmt.Errorf("harness: %w: Checkers is empty, so nothing would be judged", ErrSpec)
	case math.IsNaN(s.Rate) || math.IsInf(s.Rate, 0) || math.IsNaN(s.Drift):
		return s, fmt.Errorf("harness: %w: Rate and Drift have to be finite numbers", ErrSpec)
	case s.OpenLoop && s.Rate <= 0:
		return s, fmt.Errorf("harness: %w: OpenLoop needs a Rate above 0, the steps a second that are due", ErrSpec)
	case s.StopOnFirst && len(s.Watchers) == 0:
		return s, fmt.Errorf("harness: %w: StopOnFirst needs Watchers, which report violations during the load",
			ErrSpec)
	case s.Clients < 0 || s.Duration < 0 || s.Rate < 0 || s.QuietPeriod < 0 || s.FinalTimeout < 0 || s.Drift < 0 ||
		s.Drift >= 1:
		return s, fmt.Errorf("harness: %w: Clients, Duration, Rate, QuietPeriod, FinalTimeout and Drift cannot "+
			"be negative, and Drift has to be below 1", ErrSpec)
	}
	for _, track := range s.tracks() {
		for _, timed := range track {
			if timed.Nemesis == nil || timed.After < 0 || timed.For < 0 {
				return s, fmt.Errorf("harness: %w: a TimedFault of Faults or Tracks has no Nemesis, or a negative "+
					"After or For", ErrSpec)
			}
		}
	}
	s.Name = cmp.Or(s.Name, s.Workload.Name())
	s.Clients = cmp.Or(s.Clients, 10)
	s.Duration = cmp.Or(s.Duration, 5*time.Second)
	s.Seed = cmp.Or(s.Seed, rand.Uint64N(1<<53)) // exact in any JSON reader
	s.QuietPeriod = cmp.Or(s.QuietPeriod, 2*time.Second)
	s.FinalTimeout = cmp.Or(s.FinalTimeout, stopGrace)
	s.Drift = cmp.Or(s.Drift, 0.01)
	if s.Store == nil {
		s.Store = NewMemory()
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

// tracks lists every sequence of faults.
func (s Spec) tracks() [][]TimedFault { return append([][]TimedFault{s.Faults}, s.Tracks...) }

// loads lists every workload with its clients, the main one first.
func (s Spec) loads() []Rider {
	return append([]Rider{{Workload: s.Workload, Clients: s.Clients}}, s.Riders...)
}

func (s Spec) meta(clock Clock, groups int) Meta {
	m := Meta{
		Name: s.Name, Seed: s.Seed, Started: clock.Started(), Groups: groups, Clients: s.Clients,
		Rate: s.Rate, Open: s.OpenLoop, Drift: s.Drift, Labels: s.Labels, Widened: len(s.Generators) > 0,
		Generators: len(s.Generators),
	}
	if s.Quota != nil && !s.OpenLoop { // the quota decides how much load is enough, not the rate
		m.Rate = 0
	}
	for _, l := range s.loads() {
		m.Workers += l.Clients
		m.Kinds = append(m.Kinds, l.Workload.Kinds()...)
		if p, ok := l.Workload.(SituationPromiser); ok {
			m.Situations = append(m.Situations, p.Situations()...)
		}
	}
	return m
}

// Numbers that rngStream gets for the first sequence of faults and for the first workload's Finish. The others have the
// numbers after these. The stream of a worker has the worker's number.
const (
	nemesisStream = 1 << 63
	finishStream  = 1<<63 + 1<<32
)

// rngStream returns an independent random generator. The same seed and number give the same choices in every run.
func rngStream(seed, number uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, number)) }
