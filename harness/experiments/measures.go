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
	"github.com/doublegrant/doublegrant/harness/suggest"
	"github.com/doublegrant/doublegrant/reports"
)

// measure is a figure of one trial, and how to compute it.
type measure struct {
	reports.Measure
	of func(ctx context.Context, h harness.History, j harness.Judged) (float64, error)
}

func ofVerdict(name, unit string, of func(harness.Judged) (float64, error)) measure {
	return measure{
		reports.Measure{Name: name, Unit: unit},
		func(_ context.Context, _ harness.History, j harness.Judged) (float64, error) { return of(j) },
	}
}

func ofHistory(name, unit string, of func(context.Context, harness.History) (float64, error)) measure {
	return measure{
		reports.Measure{Name: name, Unit: unit},
		func(ctx context.Context, h harness.History, _ harness.Judged) (float64, error) { return of(ctx, h) },
	}
}

// measures lists the measures that an experiment can name.
func measures() []measure {
	everybody := func(int) bool { return true }
	// the clients on the old primary's side of Jepsen's partition
	minority := func(client int) bool { return client < 2 }
	majority := func(client int) bool { return client >= 2 }
	return []measure{
		reportedFigure("acknowledged", checkers.FigureAdded),
		reportedFigure("lost", checkers.FigureLost),
		reportedFigure("lost share", checkers.FigureLostPercent),
		reportedFigure("unknown", checkers.FigureUnknown),
		reportedFigure("refused or unknown", checkers.FigureUnknown),
		reportedFigure("unknown, there in the end", checkers.FigureRecovered),
		reportedFigure("refused", checkers.FigureRefused),
		countViolations("double grants", harness.DoubleGrant),
		countViolations("stale holders", harness.StaleHolder),
		countViolations("stale owners' writes", harness.StaleHolder),
		countFailovers(),
		lostPerSecond(), lastLost(), rolledBack(),

		countLosers("losing until the promotion", 5, untilPromotion),
		lostBy("lost until the promotion", 5, everybody, untilPromotion),
		lostBy("lost by 0, 1 in 2 s after it", 5, minority, whileFollowing),
		lostBy("lost by 2, 3, 4 in 2 s after it", 5, majority, whileFollowing),
		lostBy("lost later by 0, 1", 5, minority, untilHeal),
		lostBy("lost later by 2, 3, 4", 5, majority, untilHeal),
		lostBy("lost after the heal", 5, everybody, afterHeal),
	}
}

func measureNamed(name string) (measure, error) {
	var known []string
	for _, m := range measures() {
		if m.Name == name {
			return m, nil
		}
		known = append(known, m.Name)
	}
	return measure{}, fmt.Errorf("unknown measure %q: %s", name, suggest.DidYouMean(name, known))
}

func countViolations(name string, class harness.Class) measure {
	return ofVerdict(name, "", func(j harness.Judged) (float64, error) { return float64(j.Totals[class]), nil })
}

// reportedFigure returns a measure that shows a checker's figure under another name.
func reportedFigure(name string, m harness.Metric) measure {
	return ofVerdict(name, m.Unit, func(j harness.Judged) (float64, error) { return j.Figure(m) })
}

func countFailovers() measure {
	return ofHistory("failovers", "", func(_ context.Context, h harness.History) (float64, error) {
		return float64(len(analysis.Failovers(h))), nil
	})
}

// ofLost returns a measure that the given function computes from the lost writes.
func ofLost(name, unit string, of func(h harness.History, lost []harness.Op) (float64, error)) measure {
	return ofHistory(name, unit, func(ctx context.Context, h harness.History) (float64, error) {
		all, err := checkers.LostWrites(ctx, h)
		if err != nil {
			return 0, err
		}
		return of(h, all)
	})
}

// firstFault returns the first fault, which is the one that the experiment is about.
func firstFault(h harness.History) (harness.Fault, error) {
	if len(h.Faults) == 0 {
		return harness.Fault{}, fmt.Errorf("no fault was recorded")
	}
	return h.Faults[0], nil
}

// lostPerSecond divides the number of lost writes by the seconds in which the first fault was in force.
func lostPerSecond() measure {
	return ofLost("lost rate", "per s of fault", func(h harness.History, lost []harness.Op) (float64, error) {
		f, err := firstFault(h)
		if err != nil {
			return 0, err
		}
		if f.Heal == 0 {
			return 0, fmt.Errorf("the record ends during the fault %s", f.Name)
		}
		return float64(len(lost)) / (f.Heal - f.Active).Seconds(), nil
	})
}

// lastLost measures the time from the start of the first fault until the last lost write was acknowledged. It is 0 if
// no write was lost.
func lastLost() measure {
	return ofLost("last lost write", "s after the fault", func(h harness.History, lost []harness.Op) (float64, error) {
		f, err := firstFault(h)
		if err != nil || len(lost) == 0 {
			return 0, err
		}
		return max(0, (lost[len(lost)-1].Return - f.Start).Seconds()), nil
	})
}

// rolledBack measures the time from the call of the first lost write until the last lost write was acknowledged. It is
// 0 if no write was lost.
func rolledBack() measure {
	return ofLost("rolled back", "s", func(_ harness.History, lost []harness.Op) (float64, error) {
		if len(lost) == 0 {
			return 0, nil
		}
		return (lost[len(lost)-1].Return - lost[0].Call).Seconds(), nil
	})
}

// followTime is how long after a promotion clients may still be sent to the old primary. Sentinels tell each other of
// the promotion within one publish period, and a client follows with its next connection.
const followTime = 2 * time.Second

// part is one of the parts into which the promotion and the heal divide a run. A lost write belongs to the part in
// which it was acknowledged.
type part int

const (
	untilPromotion part = iota // until a Sentinel announces the promotion
	whileFollowing             // while clients may still have to follow the new primary
	untilHeal                  // after clients have followed, while the partition lasts
	afterHeal
)

func (p phases) partAt(t time.Duration) part {
	switch {
	case t <= p.promoted:
		return untilPromotion
	case t > p.healed:
		return afterHeal
	case t <= p.promoted+followTime:
		return whileFollowing
	}
	return untilHeal
}

// lostBy returns a measure that counts the writes lost in one part of a run with n clients. The function who decides
// which clients' writes are counted. A write's integer modulo n is the number of its client.
func lostBy(name string, n int, who func(client int) bool, in part) measure {
	return ofLost(name, "", func(h harness.History, lost []harness.Op) (float64, error) {
		clients, err := losersIn(h, lost, n, in)
		return float64(len(slices.DeleteFunc(clients, func(c int) bool { return !who(c) }))), err
	})
}

// countLosers returns a measure that counts the clients, out of n, that lost a write in one part of the run.
func countLosers(name string, n int, in part) measure {
	return ofLost(name, "clients", func(h harness.History, lost []harness.Op) (float64, error) {
		clients, err := losersIn(h, lost, n, in)
		slices.Sort(clients)
		return float64(len(slices.Compact(clients))), err
	})
}

// losersIn returns the client of each write that was lost in one part of the run. A client is listed once for each of
// its lost writes.
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

// phases holds the times of the promotion and the heal in a run with one partition.
type phases struct{ promoted, healed time.Duration }

func phasesOf(h harness.History) (phases, error) {
	f, err := firstFault(h)
	if err != nil {
		return phases{}, err
	}
	p := phases{healed: f.InForceUntil()}
	for _, o := range analysis.Failovers(h) {
		if s := o.Stage(analysis.Promoted); s.Seen && s.At > f.Start {
			p.promoted = s.At
			return p, nil
		}
	}
	return p, fmt.Errorf("no replica was promoted after the fault %s", f.Name)
}
