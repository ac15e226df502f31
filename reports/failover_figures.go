package reports

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// FailoverTimes lists the names of a failover's times in the order in which they are shown: stages, then costs.
func FailoverTimes() (all []string) {
	for _, m := range analysis.Milestones()[1:] {
		all = append(all, string(m))
	}
	return append(all, analysis.NoWrites, analysis.NoAnswers, analysis.NoClientWrites)
}

// FailoversOf returns the figures of failovers, from which distributions are computed. If clients asked too rarely to
// tell how long a cost lasted, the cost is given as a range.
func FailoversOf(all []analysis.Failover) (figures []tally.Failover) {
	for _, f := range all {
		one := tally.Failover{Times: map[string]time.Duration{}}
		for _, s := range f.Stages {
			if s.Seen && s.Name != analysis.Injected {
				one.Times[string(s.Name)] = s.After
			}
		}
		for _, c := range f.Costs() {
			if !c.IsRange {
				one.Times[c.Name] = c.Length()
			}
		}
		one.Ranges = rangesOf(f)
		for class, n := range f.Losses {
			if one.Losses == nil {
				one.Losses = map[string]int{}
			}
			one.Losses[string(class)] = n
		}
		figures = append(figures, one)
	}
	return figures
}

// rangesOf returns, by name, the costs of a failover whose length is known only as a range. It returns nil if there are
// none.
func rangesOf(f analysis.Failover) (all map[string]tally.Range) {
	for name, o := range map[string]analysis.Outage{analysis.NoAnswers: f.Outage, analysis.NoClientWrites: f.Writes} {
		if o.Seen && o.IsRange() {
			if all == nil {
				all = map[string]tally.Range{}
			}
			all[name] = tally.Range{Least: o.Least, Most: o.Most}
		}
	}
	return all
}

// figuresOf summarizes the failovers of a run.
func figuresOf(all []analysis.Failover) tally.Figures {
	return tally.FiguresOf(FailoversOf(all), FailoverTimes())
}

// FailoversLine summarizes many failovers in one line, such as "12 failovers: first write 2.21 s at the median, 3.40 s
// at p90, 3.52 s at most; 2.1 double-grant a failover on average (95 % confidence interval of that average: 0.4 to
// 3.9), no lost-write in 12 failovers (with 95 % confidence, less than 22 % of failovers have any)".
func FailoversLine(f tally.Figures) string {
	s := units.Plural(int64(f.Failovers), "failover", "failovers")
	sep := ": "
	for _, name := range []string{string(analysis.Writable), analysis.NoAnswers} {
		d, ok := f.At(name)
		s += sep + name + seenIn(d, f)
		sep = "; "
		switch {
		case ok && d.Of == 1:
			s += " " + units.Duration(d.Max)
		case ok:
			median, p90, most := units.Duration(d.Median), units.Duration(d.P90), units.Duration(d.Max)
			s += fmt.Sprintf(" %s at the median, %s at p90, %s at most", median, p90, most)
		}
	}
	for _, m := range f.Losses {
		s += sep + lossOf(m)
		sep = ", "
	}
	return s
}

// seenIn says, in parentheses, in how many of all failovers the time of the distribution d was seen. It returns "" if
// it was seen in all.
func seenIn(d tally.Distribution, f tally.Figures) string {
	if d.Of == f.Failovers {
		return ""
	}
	return fmt.Sprintf(" (%s of %s)", units.Count(int64(d.Of)), units.Count(int64(f.Failovers)))
}

// lossOf describes how many violations of a class a failover had on average, with the 95 % confidence interval of that
// average.
func lossOf(m tally.Mean) string {
	switch {
	case m.Mean == 0 && m.Of > 1:
		const none = "no %s in %s failovers (with 95 %% confidence, less than %.2g %% of failovers have any)"
		return fmt.Sprintf(none, m.Name, units.Count(int64(m.Of)), 100*m.Share())
	case m.High < 0:
		return fmt.Sprintf("%s %s in one failover", perFailover(m.Mean), m.Name)
	}
	const some = "%s %s a failover on average (95 %% confidence interval of that average: %s to %s)"
	return fmt.Sprintf(some, perFailover(m.Mean), m.Name, perFailover(m.Low), perFailover(m.High))
}

func perFailover(n float64) string {
	if n >= 100 {
		return units.Whole(n)
	}
	return fmt.Sprintf("%.3g", n)
}

// failoverFacts returns a line for each case of a suite that had failovers.
func failoverFacts(s tally.Suite) (all []fact) {
	for _, c := range s.Cases {
		if f := c.SumUp(); f != nil && len(f.Times) > 0 {
			all = append(all, fact{"failovers of " + c.Name, FailoversLine(*f)})
		}
	}
	return all
}
