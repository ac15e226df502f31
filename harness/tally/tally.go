package tally

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Ending is the result of a run of a suite. The zero value is NotRun.
type Ending uint8

// The endings. After NotRun they go from best to worst; NotRun is as bad as Undecided, as rank says.
const (
	NotRun    Ending = iota // the run was not made, or did not reach its end
	Met                     // the run ended as expected
	Undecided               // the run came to no verdict; its field Why has the reason
	Failed                  // the harness or its environment failed
	NotMet                  // the run did not end as expected
)

var endingNames = [...]string{NotRun: "not run", Met: "met", Undecided: "unknown", Failed: "failed", NotMet: "not met"}

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

// rank orders endings from best to worst. NotRun and Undecided rank the same.
func (e Ending) rank() int {
	return map[Ending]int{Met: 0, NotRun: 1, Undecided: 1, Failed: 2, NotMet: 3}[e]
}

// Run is one run of a suite, and a line of suite.jsonl.
type Run struct {
	Name     string          `json:"name"` // name of the case
	Pass     int             `json:"pass"` // number of the pass, from 1
	Seed     uint64          `json:"seed"`
	Ending   Ending          `json:"ending"`
	Why      string          `json:"why,omitempty"` // why the run did not end as expected; empty: it ended as expected
	Verdict  harness.Verdict `json:"verdict"`
	Found    string          `json:"found,omitempty"`
	Expected string          `json:"expected"`
	Ops      int64           `json:"ops"`
	Started  time.Time       `json:"started"`
	Elapsed  time.Duration   `json:"elapsed"`
	Command  string          `json:"command,omitempty"` // the command that repeats the run
	Link     string          `json:"link,omitempty"`    // relative path of the run's report; empty: it was not kept
	Process  Sample          `json:"process"`           // what the harness's process used after the run
	// worker that made the run for a coordinator; empty: this process made the run
	Worker string `json:"worker,omitempty"`

	// failovers that no fault caused, as in "a failover that no fault caused: ..."; empty: there were none
	Unplanned string `json:"unplanned,omitempty"`
	// steps of the counterexample, as lines, if a search did not end as expected; empty: no counterexample
	Steps string `json:"steps,omitempty"`
	// name of the failover's time whose limit decided the ending, such as "first write"; empty: no limit decided it
	Limit string `json:"limit,omitempty"`

	Failovers []Failover `json:"failovers,omitempty"` // ordered by time
	// names of the failovers' times, in the order in which reports show them
	Stages []string `json:"stages,omitempty"`
}

// Case sums up all runs of one case, which is an entry of a suite's file.
type Case struct {
	Name     string        `json:"name"`
	Variant  string        `json:"variant,omitempty"`
	Expected string        `json:"expected"`
	Runs     int           `json:"runs"` // number of runs that ended: the sum of the next four fields
	Met      int           `json:"met"`
	NotMet   int           `json:"notMet"`
	Unknown  int           `json:"unknown"`
	Failed   int           `json:"failed"`
	Ops      int64         `json:"ops"`
	Elapsed  time.Duration `json:"elapsed"`
	Last     Run           `json:"last"`     // the last run; its Failovers are left out, as in Failures
	Failures []Run         `json:"failures"` // the first MaxFailures runs that were not as expected

	// the figures that SumUp returned when the suite was stored; Add does not change them
	Failovers *Figures `json:"failovers,omitempty"`

	failovers []Failover
	stages    []string
}

// MaxFailures bounds Case.Failures. All runs are counted, and all are in suite.jsonl.
const MaxFailures = 50

// Add counts a run. It ignores a run that did not end.
func (c *Case) Add(r Run) {
	switch r.Ending {
	case NotRun:
		return
	case Met:
		c.Met++
	case NotMet:
		c.NotMet++
	case Undecided:
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
	r.Failovers, r.Stages = nil, nil // they are in suite.jsonl
	c.Last = r
	if r.Ending != Met && len(c.Failures) < MaxFailures {
		c.Failures = append(c.Failures, r)
	}
}

// SumUp returns the figures over the failovers of the runs that were added. If these runs had no failovers, it returns
// c.Failovers, which is set in a case that was read from a file. The result is nil if no run had a failover.
func (c Case) SumUp() *Figures {
	if len(c.failovers) == 0 {
		return c.Failovers
	}
	return new(FiguresOf(c.failovers, c.stages))
}

// Ending returns the worst ending of the case's runs; NotRun if there are no runs.
func (c Case) Ending() Ending {
	switch {
	case c.NotMet > 0:
		return NotMet
	case c.Failed > 0:
		return Failed
	case c.Unknown > 0:
		return Undecided
	case c.Met > 0:
		return Met
	}
	return NotRun
}

// First returns the first run in Failures with the ending of the whole case. If there is none, it returns the last run.
func (c Case) First() Run {
	if i := slices.IndexFunc(c.Failures, func(r Run) bool { return r.Ending == c.Ending() }); i >= 0 {
		return c.Failures[i]
	}
	return c.Last
}

// Suite sums up a suite, and is the content of suite.json.
type Suite struct {
	Name    string        `json:"name"`
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed"`
	For     time.Duration `json:"for,omitempty"`   // time for which the suite was asked to run; 0: one pass
	Passes  int           `json:"passes"`          // number of passes that have begun
	Ended   string        `json:"ended,omitempty"` // reason for an early end; empty: the suite ran to its end
	// how often another process resumed the suite; Elapsed leaves out the time in between
	Resumed int    `json:"resumed,omitempty"`
	Cases   []Case `json:"cases"`
	Memory  Memory `json:"memory"` // memory of the harness

	// version of doublegrant; empty: a version too old to record it
	Version string `json:"version,omitempty"`
	// fingerprint of the whole suite: its runs, their scripts and expectations
	Fingerprint string `json:"fingerprint,omitempty"`
	// server of the nodes, by platform: {"process": "Redis 7.0.15"}
	Servers map[string]string `json:"servers,omitempty"`

	Shard *Shard `json:"shard,omitempty"` // the part of a suite that this is; nil: the whole suite
	// the parts that were merged into this suite; Elapsed is the time of the longest part
	Shards []ShardResult `json:"shards,omitempty"`
}

// Ending returns the worst ending of the suite's cases. NotMet is worse than Failed, and Failed worse than Undecided,
// since an unexpected violation matters most. A suite that ended early is never Met.
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

// Repeated reports whether any case ran more than once.
func (s Suite) Repeated() bool {
	return s.For > 0 || slices.ContainsFunc(s.Cases, func(c Case) bool { return c.Runs > 1 })
}

// Total adds up all cases.
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

// Failures lists, for each case, the first runs that were not as expected. It lists at most the given number for a
// case. It also returns how many further runs were not as expected.
func (s Suite) Failures(most int) (all []Run, others int) {
	for _, c := range s.Cases {
		shown := c.Failures[:min(most, len(c.Failures))]
		all = append(all, shown...)
		others += c.NotMet + c.Unknown + c.Failed - len(shown)
	}
	return all, others
}
