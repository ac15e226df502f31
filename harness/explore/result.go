package explore

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Result is what a search found. Its counts are those of all parts of the search together.
type Result struct {
	Schedules int           `json:"schedules"`         // run to their end and judged
	Pruned    int           `json:"pruned"`            // given up, since another schedule shows the same
	Steps     int           `json:"steps"`             // commands and actions, of all schedules together
	Exhausted bool          `json:"exhausted"`         // every schedule within the budgets was run, or one that shows the same
	Stopped   string        `json:"stopped,omitempty"` // why it was not, or why that says nothing
	First     time.Duration `json:"first"`             // from the start of the search to the first counterexample; 0: none
	Elapsed   time.Duration `json:"elapsed"`           // of the search
	Budget    Budget        `json:"budget"`            // of its first part
	Parts     []Part        `json:"parts,omitempty"`   // the searches of which it consists, one after the other
	// Limits says in words what the search could not look at on this machine; empty: nothing.
	Limits []string `json:"limits,omitempty"`
	// Situations lists what the schedules contained and, with a count of 0, what they could have and did not.
	Situations []Situation `json:"situations,omitempty"`
	// Found holds the smallest counterexample of each class, the shortest first.
	Found []Counterexample `json:"found"`
}

// Situation is one that schedules met, with the shortest schedule that did.
type Situation struct {
	harness.Situation
	Steps []Step `json:"steps,omitempty"` // of that schedule
}

// Part is a search with one budget.
type Part struct {
	Budget    Budget `json:"budget"`
	Schedules int    `json:"schedules"` // run to their end and judged
	Pruned    int    `json:"pruned"`    // given up, since another schedule shows the same
	Exhausted bool   `json:"exhausted"` // every schedule within the budget was run, or one that shows the same
}

// Counterexample is one schedule that ends in a violation.
type Counterexample struct {
	Budget   Budget          `json:"budget"`   // of the search that found it; without clients: that of the whole
	Schedule []Choice        `json:"schedule"` // what Replay runs again
	Steps    []Step          `json:"steps"`
	Anomaly  harness.Anomaly `json:"anomaly"`
	Ops      []harness.Op    `json:"ops"` // the whole history, in virtual time
}

// budget is that under which the counterexample can be replayed.
func (c Counterexample) budget(s Spec) Budget {
	if c.Budget.Clients > 0 {
		return c.Budget
	}
	return s.parts()[0]
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
		return "no order of commands breaks it: " + r.contained()
	}
	return fmt.Sprintf("nothing can be said after %d schedules: %s", r.Schedules, r.Stopped)
}

// contained says what was run: "all 50 schedules of 3 clients, at most 1 crash and 1 expiry".
func (r Result) contained() string {
	var parts []string
	for _, p := range r.Parts {
		parts = append(parts, fmt.Sprintf("all %d schedules of %s", p.Schedules, p.Budget))
	}
	return strings.Join(parts, "; and ")
}

// inWords writes a schedule on one line.
func inWords(schedule []Choice) string {
	words := make([]string, len(schedule))
	for i, c := range schedule {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}

// Text writes the counterexample as a person would on a whiteboard: one step a line.
func (c Counterexample) Text() string { return whiteboard(c.Steps) }

// Text writes the shortest schedule that met the situation as [Counterexample.Text] does.
func (s Situation) Text() string { return whiteboard(s.Steps) }

func whiteboard(steps []Step) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range steps {
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
