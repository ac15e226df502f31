package tally

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Ending is the result of a run of a suite. The zero value is NotRun.
type Ending uint8

// The endings. From Met to NotMet each is worse than the one before; NotRun is as bad as Unsaid.
const (
	NotRun Ending = iota // it did not run, or not to its end
	Met                  // as expected
	Unsaid               // nothing can be said; Why has the reason
	Failed               // the harness or its environment failed
	NotMet               // not as expected
)

var endingNames = [...]string{NotRun: "not run", Met: "met", Unsaid: "unknown", Failed: "failed", NotMet: "not met"}

// String returns "met", "not met", "unknown", "failed" or "not run".
func (e Ending) String() string { return endingNames[min(int(e), len(endingNames)-1)] }

// MarshalText writes the ending's name.
func (e Ending) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads an ending's name.
func (e *Ending) UnmarshalText(text []byte) error {
	i := slices.Index(endingNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("tally: unknown ending %q", text)
	}
	*e = Ending(i)
	return nil
}

// rank orders endings from the best to the worst.
func (e Ending) rank() int {
	return map[Ending]int{Met: 0, NotRun: 1, Unsaid: 1, Failed: 2, NotMet: 3}[e]
}

// Run is one run of a suite: a line of suite.jsonl.
type Run struct {
	Name     string          `json:"name"` // of the case
	Pass     int             `json:"pass"` // from 1
	Seed     uint64          `json:"seed"`
	Ending   Ending          `json:"ending"`
	Why      string          `json:"why,omitempty"` // what was found, missing or wrong; empty if it ended as expected
	Verdict  harness.Verdict `json:"verdict"`
	Found    string          `json:"found,omitempty"`
	Expected string          `json:"expected"`
	Ops      int64           `json:"ops"`
	Started  time.Time       `json:"started"`
	Elapsed  time.Duration   `json:"elapsed"`
	Command  string          `json:"command,omitempty"` // repeats the run
	Link     string          `json:"link,omitempty"`    // relative path of its report; empty if that was not kept
	Process  Sample          `json:"process"`           // the harness after it
	Worker   string          `json:"worker,omitempty"`  // that made it, of a coordination; empty: this process

	Failovers []Failover `json:"failovers,omitempty"` // in order of time
	Stages    []string   `json:"stages,omitempty"`    // names of their times, in the order in which they are shown
}

// Case sums up all runs of one case of a suite.
type Case struct {
	Name     string        `json:"name"`
	Variant  string        `json:"variant,omitempty"`
	Expected string        `json:"expected"`
	Runs     int           `json:"runs"` // runs that ended: the sum of the next four
	Met      int           `json:"met"`
	NotMet   int           `json:"notMet"`
	Unknown  int           `json:"unknown"`
	Failed   int           `json:"failed"`
	Ops      int64         `json:"ops"`
	Elapsed  time.Duration `json:"elapsed"`
	Last     Run           `json:"last"`     // without its failovers, as those in Failures
	Failures []Run         `json:"failures"` // the first MaxFailures runs that were not as expected

	Failovers *Figures `json:"failovers,omitempty"` // of all runs, as SumUp returns them; Add leaves it alone

	failovers []Failover
	stages    []string
}

// MaxFailures bounds the failures of a case that are listed with their seeds. All of them are counted, and all are in the record.
const MaxFailures = 50

// Add counts a run. A run that did not end is ignored.
func (c *Case) Add(r Run) {
	switch r.Ending {
	case NotRun:
		return
	case Met:
		c.Met++
	case NotMet:
		c.NotMet++
	case Unsaid:
		c.Unknown++
	case Failed:
		c.Failed++
	}
	c.Runs++
	c.Ops += r.Ops
	c.Elapsed += r.Elapsed
	if len(r.Failovers) > 0 {
		c.failovers, c.stages = append(c.failovers, r.Failovers...), r.Stages
	}
	r.Failovers, r.Stages = nil, nil // they are in the record
	c.Last = r
	if r.Ending != Met && len(c.Failures) < MaxFailures {
		c.Failures = append(c.Failures, r)
	}
}

// SumUp returns the figures of all failovers of the case's runs; nil: none had any.
func (c Case) SumUp() *Figures {
	if len(c.failovers) == 0 {
		return c.Failovers
	}
	f := FiguresOf(c.failovers, c.stages)
	return &f
}

// Ending returns the worst ending of the case's runs; NotRun if there are none.
func (c Case) Ending() Ending {
	switch {
	case c.NotMet > 0:
		return NotMet
	case c.Failed > 0:
		return Failed
	case c.Unknown > 0:
		return Unsaid
	case c.Met > 0:
		return Met
	}
	return NotRun
}

// First returns the first run with the case's own ending; the last run if it is not listed.
func (c Case) First() Run {
	for _, r := range c.Failures {
		if r.Ending == c.Ending() {
			return r
		}
	}
	return c.Last
}

// Suite sums up a suite. It is the content of suite.json.
type Suite struct {
	Name    string        `json:"name"`
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed"`
	For     time.Duration `json:"for,omitempty"`     // time asked for; 0: one pass
	Passes  int           `json:"passes"`            // passes that have begun
	Ended   string        `json:"ended,omitempty"`   // reason for an early end; empty: it ran to its end
	Resumed int           `json:"resumed,omitempty"` // times that another process went on with it; Elapsed leaves the time between out
	Cases   []Case        `json:"cases"`
	Memory  Memory        `json:"memory"` // of the harness

	Version     string            `json:"version,omitempty"`     // of doublegrant; empty: of an older one
	Fingerprint string            `json:"fingerprint,omitempty"` // of the whole suite: its runs, their scripts and expectations
	Servers     map[string]string `json:"servers,omitempty"`     // what nodes ran, by platform: {"process": "Redis 7.0.15"}

	Shard  *Shard        `json:"shard,omitempty"`  // the part that this is of a suite; nil: it is whole
	Shards []ShardResult `json:"shards,omitempty"` // the parts that this was put together from; Elapsed is the longest one's
}

// Ending returns the worst ending of the suite's cases: NotMet before Failed, and Failed before Unsaid, since a violation that
// nobody expected matters most. A suite that ended early is never Met.
func (s Suite) Ending() Ending {
	worst := NotRun
	for i, c := range s.Cases {
		if i == 0 || c.Ending().rank() > worst.rank() {
			worst = c.Ending()
		}
	}
	if s.Ended != "" && worst == Met {
		return NotRun // some of the suite did not run
	}
	return worst
}

// Repeated reports whether some case ran more than once.
func (s Suite) Repeated() bool {
	return s.For > 0 || slices.ContainsFunc(s.Cases, func(c Case) bool { return c.Runs > 1 })
}

// Total adds all cases up.
func (s Suite) Total() (t Case) {
	for _, c := range s.Cases {
		t.Runs, t.Met, t.NotMet = t.Runs+c.Runs, t.Met+c.Met, t.NotMet+c.NotMet
		t.Unknown, t.Failed, t.Ops, t.Elapsed = t.Unknown+c.Unknown, t.Failed+c.Failed, t.Ops+c.Ops, t.Elapsed+c.Elapsed
	}
	return t
}

// Missing counts the cases that did not run.
func (s Suite) Missing() (n int) {
	for _, c := range s.Cases {
		if c.Runs == 0 {
			n++
		}
	}
	return n
}

// Failures lists, of each case, at most most runs that were not as expected, and counts the others.
func (s Suite) Failures(most int) (all []Run, others int) {
	for _, c := range s.Cases {
		shown := c.Failures[:min(most, len(c.Failures))]
		all = append(all, shown...)
		others += c.NotMet + c.Unknown + c.Failed - len(shown)
	}
	return all, others
}
