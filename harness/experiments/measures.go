package experiments

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/reports"
)

// measure is a figure of one trial.
type measure struct {
	reports.Measure
	of func(ctx context.Context, h harness.History, j harness.Judged) (float64, error)
}

// violations counts what was found of a class.
func violations(name string, class harness.Class) measure {
	return measure{reports.Measure{Name: name}, func(_ context.Context, _ harness.History, j harness.Judged) (float64, error) {
		return float64(j.Totals[class]), nil
	}}
}

// reported is a figure of a checker, under the experiment's name for it.
func reported(name string, m harness.Metric) measure {
	return measure{reports.Measure{Name: name, Unit: m.Unit}, func(_ context.Context, _ harness.History, j harness.Judged) (float64, error) {
		return j.Figure(m)
	}}
}

func acknowledged() measure { return reported("acknowledged", checkers.FigureAdded) }

func lost() measure { return reported("lost", checkers.FigureLost) }

func lostPercent() measure { return reported("lost share", checkers.FigureLostPercent) }

func doubleGrants() measure { return violations("double grants", harness.DoubleGrant) }

// failovers counts the faults after which Sentinels announced a new primary, and those they announced beyond one.
func failovers() measure {
	return measure{reports.Measure{Name: "failovers"}, func(_ context.Context, h harness.History, _ harness.Judged) (float64, error) {
		n := 0
		for _, f := range analysis.Failovers(h) {
			n += 1 + f.Again
		}
		return float64(n), nil
	}}
}

// ofLost is a figure of the writes that were lost.
func ofLost(name, unit string, of func(h harness.History, lost []harness.Op) (float64, error)) measure {
	return measure{reports.Measure{Name: name, Unit: unit}, func(ctx context.Context, h harness.History, _ harness.Judged) (float64, error) {
		all, err := checkers.LostWrites(ctx, h)
		if err != nil {
			return 0, err
		}
		return of(h, all)
	}}
}

// firstFault is the fault that an experiment is about.
func firstFault(h harness.History) (harness.Fault, error) {
	if len(h.Faults) == 0 {
		return harness.Fault{}, fmt.Errorf("no fault was recorded")
	}
	return h.Faults[0], nil
}

// lostPerSecond is the loss over the time in which the first fault was in force.
func lostPerSecond() measure {
	return ofLost("lost rate", "per s of fault", func(h harness.History, lost []harness.Op) (float64, error) {
		f, err := firstFault(h)
		if err != nil {
			return 0, err
		}
		if f.Heal == 0 {
			return 0, fmt.Errorf("the record stops while the fault %s was in force", f.Name)
		}
		return float64(len(lost)) / (f.Heal - f.Active).Seconds(), nil
	})
}

// lastLost is how long after the start of the first fault the last lost write was acknowledged; 0: none was lost.
func lastLost() measure {
	return ofLost("last lost write", "s after the fault", func(h harness.History, lost []harness.Op) (float64, error) {
		f, err := firstFault(h)
		if err != nil || len(lost) == 0 {
			return 0, err
		}
		return max(0, (lost[len(lost)-1].Return - f.Start).Seconds()), nil
	})
}

// rolledBack is the time that the lost writes span, from the call of the first to the answer to the last.
func rolledBack() measure {
	return ofLost("rolled back", "s", func(_ harness.History, lost []harness.Op) (float64, error) {
		if len(lost) == 0 {
			return 0, nil
		}
		return (lost[len(lost)-1].Return - lost[0].Call).Seconds(), nil
	})
}

// settling is how long after a promotion clients may still be led to the old primary: Sentinels tell each other within
// a publish period, and a client follows with its next connection.
const settling = 2 * time.Second

// part is a part of a run. The parts of a run follow upon each other without a gap: a lost write belongs to the one in which it
// was acknowledged.
type part int

const (
	untilPromotion part = iota // a Sentinel has not yet said that a new primary is there
	whileSettling              // in the time that clients may need to follow it
	untilHeal                  // afterwards, while the partition lasts
	afterHeal
)

// partAt is the part in which t lies.
func (p phases) partAt(t time.Duration) part {
	switch {
	case t <= p.promoted:
		return untilPromotion
	case t > p.healed:
		return afterHeal
	case t <= p.promoted+settling:
		return whileSettling
	}
	return untilHeal
}

// lostBy counts lost writes of some of n clients, whose integers are their number modulo n, in a part of the run.
func lostBy(name string, n int, who func(client int) bool, in part) measure {
	return ofLost(name, "", func(h harness.History, lost []harness.Op) (float64, error) {
		clients, err := losersIn(h, lost, n, in)
		return float64(len(slices.DeleteFunc(clients, func(c int) bool { return !who(c) }))), err
	})
}

// losers counts the clients, of n, that lost a write in a part of the run.
func losers(name string, n int, in part) measure {
	return ofLost(name, "clients", func(h harness.History, lost []harness.Op) (float64, error) {
		clients, err := losersIn(h, lost, n, in)
		slices.Sort(clients)
		return float64(len(slices.Compact(clients))), err
	})
}

// losersIn is the client, of n, of each write that was lost in a part of the run.
func losersIn(h harness.History, lost []harness.Op, n int, in part) (clients []int, err error) {
	p, err := phasesOf(h)
	if err != nil {
		return nil, err
	}
	for _, op := range lost {
		if v, err := strconv.Atoi(op.Arg); err == nil && p.partAt(op.Return) == in {
			clients = append(clients, v%n)
		}
	}
	return clients, nil
}

// phases are the turning points of a run with one partition.
type phases struct{ promoted, healed time.Duration }

func phasesOf(h harness.History) (phases, error) {
	f, err := firstFault(h)
	if err != nil {
		return phases{}, err
	}
	p := phases{healed: f.Until()}
	for _, o := range analysis.Failovers(h) {
		if s := o.Stage(analysis.Promoted); o.Fault == 0 && s.Seen {
			p.promoted = s.At
			return p, nil
		}
	}
	return p, fmt.Errorf("no promotion followed the fault %s", f.Name)
}
