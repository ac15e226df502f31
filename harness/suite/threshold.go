package suite

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Threshold bounds how long the failovers of a run may take. A run that exceeds a bound is not as expected. One without
// a failover tells nothing, and neither does one whose failovers do not show whether they kept it. A bound of zero is
// none.
type Threshold struct {
	TakesWrites time.Duration `yaml:"takesWrites,omitempty" zero:"default"` // from the fault to the new primary's first write of the harness's
	FirstWrite  time.Duration `yaml:"firstWrite,omitempty" zero:"default"`  // from the fault to its first write of a client
	NoWrites    time.Duration `yaml:"noWrites,omitempty" zero:"default"`    // for which no node took writes
	NoAnswers   time.Duration `yaml:"noAnswers,omitempty" zero:"default"`   // for which no client that asked was answered
	At          string        `yaml:"at,omitempty"`                         // median, p90 or max of a run's failovers; default max
}

// bound is one bound of a threshold.
type bound struct {
	name string
	most time.Duration
}

// bounds lists the bounds that are given. The names are those of FailoverTimes.
func (t Threshold) bounds() (all []bound) {
	for _, b := range []bound{
		{"takes writes", t.TakesWrites}, {"first write", t.FirstWrite},
		{"no node took writes", t.NoWrites}, {"no client that asked was answered", t.NoAnswers},
	} {
		if b.most != 0 {
			all = append(all, b)
		}
	}
	return all
}

// check returns the field that is wrong, and why; nil if the threshold makes sense.
func (t Threshold) check() (field string, err error) {
	all := t.bounds()
	if len(all) == 0 {
		return "failover", errors.New("it bounds nothing: give firstWrite, takesWrites, noWrites or noAnswers")
	}
	for _, b := range all {
		if b.most < 0 {
			return "failover", fmt.Errorf("%s within %v: a bound cannot be negative", b.name, b.most)
		}
	}
	if _, ok := t.of(tally.Distribution{}); !ok {
		return "failover", fmt.Errorf("at %q: choose median, p90 or max", t.At)
	}
	return "", nil
}

// of returns the figure of a distribution that counts; ok is false if there is no such figure.
func (t Threshold) of(d tally.Distribution) (counts time.Duration, ok bool) {
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

// judge changes the ending of a run that was as expected, if its failovers exceed the threshold or do not show what is
// bounded.
func (t Threshold) judge(r *tally.Run) {
	if r.Ending != tally.Met {
		return
	}
	for _, b := range t.bounds() {
		ending, why := t.compare(b, r.Failovers)
		if ending != tally.Met {
			r.Ending, r.Why = ending, why
		}
		if ending == tally.NotMet {
			return
		}
	}
}

// compare returns what one bound makes of failovers, and why. What is not known may be within the bound or beyond it.
func (t Threshold) compare(b bound, all []tally.Failover) (tally.Ending, string) {
	told := 0
	for _, f := range all {
		if r := f.Range(b.name); r.Least > b.most || r.Most <= b.most {
			told++
		}
	}
	of := units.Plural(int64(len(all)), "failover", "failovers")
	if told == 0 {
		return tally.Unsaid, fmt.Sprintf("%s: none of %s shows how long that took", b.name, of)
	}
	low, high := tally.BoundsOf(all, b.name)
	least, _ := t.of(low)
	most, _ := t.of(high)
	switch {
	case least > b.most:
		took := units.Duration(least)
		if least < most {
			took = "at least " + took
		}
		const why = "%s took %s at %s of %s, more than %v"
		return tally.NotMet, fmt.Sprintf(why, b.name, took, cmp.Or(t.At, "max"), of, b.most)
	case most > b.most:
		const why = "%s: whether that took at most %v can be told of only %d of %s"
		return tally.Unsaid, fmt.Sprintf(why, b.name, b.most, told, of)
	}
	return tally.Met, ""
}
