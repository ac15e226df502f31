package explore

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Result is what a search found.
type Result struct {
	Schedules int           `json:"schedules"`         // run to their end and judged
	Pruned    int           `json:"pruned"`            // given up, since another schedule shows the same
	Steps     int           `json:"steps"`             // commands and actions, of all schedules together
	Exhausted bool          `json:"exhausted"`         // every schedule within the budget was run, or one that shows the same
	Stopped   string        `json:"stopped,omitempty"` // why it was not
	First     time.Duration `json:"first"`             // from the start of the search to the first counterexample; 0: none
	Elapsed   time.Duration `json:"elapsed"`           // of the search
	Budget    Budget        `json:"budget"`
	// Found holds the smallest counterexample of each class, the shortest first.
	Found []Counterexample `json:"found"`
}

// Counterexample is one schedule that ends in a violation.
type Counterexample struct {
	Schedule []Choice        `json:"schedule"` // what Replay runs again
	Steps    []Step          `json:"steps"`
	Anomaly  harness.Anomaly `json:"anomaly"`
	Ops      []harness.Op    `json:"ops"` // the whole history, in virtual time
}

// Length is the number of steps.
func (c Counterexample) Length() int { return len(c.Steps) }

// Step is one line of a counterexample.
type Step struct {
	Number  int           `json:"number"`           // from 1
	At      time.Duration `json:"at"`               // in virtual time
	Client  int           `json:"client"`           // from 1; 0: not a client but the world, see Choice
	Choice  Choice        `json:"choice"`           // that led to it
	Command string        `json:"command"`          // "SET lock client-1 NX PX 10000"; for the world what happens: "10 s pass: lock expires"
	Reply   string        `json:"reply,omitempty"`  // "OK", "(nil)", "1", "(error) NOSCRIPT ..."
	Belief  string        `json:"belief,omitempty"` // what the client believes from now on: "holds lock until 10.001s"; empty: still in the middle
}

// Verdict is Invalid if anything was found, Valid if the search ran every schedule, and Unknown otherwise.
func (r Result) Verdict() harness.Verdict {
	switch {
	case len(r.Found) > 0:
		return harness.Invalid
	case r.Exhausted && r.Schedules > 0:
		return harness.Valid
	}
	return harness.Unknown
}

// Rate is how many schedules were run in a second, those that were given up included.
func (r Result) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Schedules+r.Pruned) / r.Elapsed.Seconds()
}

// Summary says in one sentence what the search came to.
func (r Result) Summary() string {
	switch {
	case len(r.Found) > 0:
		return fmt.Sprintf("a counterexample of %d steps: %s", r.Found[0].Length(), r.Found[0].Anomaly.Class)
	case r.Exhausted:
		return fmt.Sprintf("no order of commands breaks it: all %d schedules of %s", r.Schedules, r.Budget)
	}
	return fmt.Sprintf("nothing can be said after %d schedules: %s", r.Schedules, r.Stopped)
}

// String says it in words: "3 clients, at most 1 crash and 1 expiry".
func (b Budget) String() string {
	var limits []string
	for _, l := range []struct {
		n         int
		one, many string
	}{{b.Crashes, "crash", "crashes"}, {b.Expiries, "expiry", "expiries"}, {b.Failovers, "failover", "failovers"}, {b.Flushes, "script flush", "script flushes"}} {
		switch {
		case l.n == 1:
			limits = append(limits, "1 "+l.one)
		case l.n > 1:
			limits = append(limits, fmt.Sprintf("%d %s", l.n, l.many))
		}
	}
	s := fmt.Sprintf("%d clients", b.Clients)
	if n := len(limits); n > 1 {
		limits = []string{strings.Join(limits[:n-1], ", ") + " and " + limits[n-1]}
	}
	if len(limits) > 0 {
		s += ", at most " + limits[0]
	}
	return s
}

// Text writes the counterexample as a person would on a whiteboard: one step a line.
func (c Counterexample) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range c.Steps {
		who := "-"
		if s.Client > 0 {
			who = fmt.Sprintf("client %d", s.Client)
		}
		belief := ""
		if s.Belief != "" {
			belief = "-> " + s.Belief
		}
		fmt.Fprintf(w, "  %d\t%s\t%s\t%s\t%s\n", s.Number, who, s.Command, s.Reply, belief)
	}
	_ = w.Flush() // to memory
	return b.String()
}
