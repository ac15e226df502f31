package suite

import (
	"errors"
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Threshold bounds how long the failovers of a run may take. A run that exceeds a bound is not as expected. A run
// without failovers is undecided, and so is one whose failovers were not measured closely enough. A zero means no
// bound.
type Threshold struct {
	// Time from the fault to the harness's first write on the new primary.
	TakesWrites time.Duration `yaml:"takesWrites,omitempty" zero:"default"`
	// Time from the fault to a client's first write on the new primary.
	FirstWrite time.Duration `yaml:"firstWrite,omitempty" zero:"default"`
	NoWrites   time.Duration `yaml:"noWrites,omitempty" zero:"default"`  // how long no node took writes
	NoAnswers  time.Duration `yaml:"noAnswers,omitempty" zero:"default"` // how long no client that asked was answered
	// statistic of the run's failovers that must be within the bounds: median, p90 or max; default max
	At string `yaml:"at,omitempty"`
}

// bound is one bound of a threshold.
type bound struct {
	name string
	most time.Duration
}

// bounds lists the bounds that are set, under the names in reports.FailoverTimes.
func (t Threshold) bounds() (all []bound) {
	for _, b := range []bound{
		{string(analysis.Accepted), t.TakesWrites}, {string(analysis.Writable), t.FirstWrite},
		{analysis.NoWrites, t.NoWrites}, {analysis.NoAnswers, t.NoAnswers},
	} {
		if b.most != 0 {
			all = append(all, b)
		}
	}
	return all
}

// String describes the bounds as an addition to an expectation: "; first write within 3s at p90". It is empty for nil.
func (t *Threshold) String() (s string) {
	if t == nil {
		return ""
	}
	for _, b := range t.bounds() {
		s += fmt.Sprintf("; %s within %v", b.name, b.most)
		if t.At == "median" || t.At == "p90" {
			s += " at " + t.At
		}
	}
	return s
}

// check returns the name of an invalid field and an error that says what is wrong with it. The error is nil if the
// threshold is valid.
func (t Threshold) check() (field string, err error) {
	all := t.bounds()
	if len(all) == 0 {
		return "failover", errors.New("failover has no bound: give firstWrite, takesWrites, noWrites or noAnswers")
	}
	for _, b := range all {
		if b.most < 0 {
			return "failover", fmt.Errorf("%s within %v: a bound cannot be negative: give 0 or more", b.name, b.most)
		}
	}
	if _, ok := t.statistic(tally.Distribution{}); !ok {
		return "failover", fmt.Errorf("at %q: choose median, p90 or max", t.At)
	}
	return "", nil
}

// statistic returns the statistic that At selects; ok is false if At is invalid.
func (t Threshold) statistic(d tally.Distribution) (counts time.Duration, ok bool) {
	switch t.At {
	case "median":
		return d.Median, true
	case "p90":
		return d.P90, true
	case "max", "":
		return d.Max, true
	}
	return 0, false
}

// judge changes the ending of a run that was as expected, if its failovers exceed the threshold or were not measured
// closely enough to tell.
func (t Threshold) judge(r *tally.Run) {
	if r.Ending != tally.Met {
		return
	}
	for _, b := range t.bounds() {
		ending, why := t.compare(b, r.Failovers)
		if ending != tally.Met {
			r.Ending, r.Why, r.Limit = ending, why, b.name
		}
		if ending == tally.NotMet {
			return
		}
	}
}

// compare compares failovers with one bound, and returns the ending and its reason. A time that was not measured
// exactly may be on either side of the bound.
func (t Threshold) compare(b bound, all []tally.Failover) (tally.Ending, string) {
	if len(all) == 0 {
		return tally.Undecided, fmt.Sprintf("the run had no failover, so nothing is known of %q, whose limit is %v",
			b.name, b.most)
	}
	decided := 0
	for _, f := range all {
		if r := f.Range(b.name); r.Least > b.most || r.Most <= b.most {
			decided++
		}
	}
	of := units.Plural(int64(len(all)), "failover", "failovers")
	if decided == 0 {
		return tally.Undecided, fmt.Sprintf("%q was not measured in any of %s; its limit is %v", b.name, of, b.most)
	}
	low, high := tally.BoundsOf(all, b.name)
	least, _ := t.statistic(low)
	most, _ := t.statistic(high)
	switch {
	case least > b.most:
		took := units.Duration(least)
		if least < most {
			took = "at least " + took
		}
		return tally.NotMet, fmt.Sprintf("%s%s; the limit is %v", b.lasted(took), t.whichOf(len(all)), b.most)
	case most > b.most:
		const why = "%q: for only %d of %s is it known whether they kept the limit of %v"
		return tally.Undecided, fmt.Sprintf(why, b.name, decided, of, b.most)
	}
	return tally.Met, ""
}

// lasted returns a clause about the time that b limits, such as "the first write of a client came 1.4 s after the
// fault". The parameter took has the length of that time, in words.
func (b bound) lasted(took string) string {
	switch b.name {
	case string(analysis.Accepted):
		return "the new primary took its first write " + took + " after the fault"
	case string(analysis.Writable):
		return "the first write of a client came " + took + " after the fault"
	}
	return b.name + " for " + took
}

// whichOf says which failover, of n, the statistic is about. It is empty for one failover.
func (t Threshold) whichOf(n int) string {
	switch {
	case n == 1:
		return ""
	case t.At == "median":
		return fmt.Sprintf(", the median of %d failovers", n)
	case t.At == "p90":
		return fmt.Sprintf(", the p90 of %d failovers", n)
	}
	return fmt.Sprintf(", the longest of %d failovers", n)
}
