package interleave

import (
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Result is what a search found. Its counts cover all parts. The zero value has run nothing, so its verdict is unknown.
type Result struct {
	Schedules int `json:"schedules"` // schedules that were run and judged
	Pruned    int `json:"pruned"`    // schedules that were ended early, since another schedule shows the same
	Steps     int `json:"steps"`     // steps of all schedules, including pruned ones
	// every schedule within the budgets was run, or one that is equivalent to it
	Exhausted bool `json:"exhausted"`
	// why Exhausted is false: what ended the search early, or why its schedules show nothing
	Stopped string `json:"stopped,omitempty"`
	// real time from the start of the search to the first counterexample; 0: none
	First   time.Duration `json:"first"`
	Elapsed time.Duration `json:"elapsed"`         // real time of the search
	Budget  Budget        `json:"budget"`          // budget of the first part
	Parts   []Part        `json:"parts,omitempty"` // searches that make up this one, in order
	// Random is the promise of a random search. nil: the search was to run every schedule.
	Random *Random `json:"random,omitempty"`
	// Limits says what the search could not examine or rely on, on this machine. It may be empty.
	Limits []string `json:"limits,omitempty"`
	// Situations lists the situations that were met and, with a count of 0, those that could have been met.
	Situations []Situation `json:"situations,omitempty"`
	// Counterexamples lists the smallest counterexample of each class, the shortest first.
	Counterexamples []Counterexample `json:"found"`
}

// Situation is a situation with the shortest schedule that met it. If no schedule did, Count is 0 and Steps is empty.
type Situation struct {
	harness.Situation
	Steps []Step `json:"steps,omitempty"` // steps of that schedule
}

// Part sums up a search with one budget.
type Part struct {
	Budget    Budget `json:"budget"`
	Schedules int    `json:"schedules"`          // schedules that were run and judged
	Pruned    int    `json:"pruned"`             // schedules that were ended early, since another schedule shows the same
	Exhausted bool   `json:"exhausted"`          // every schedule within the budget was run, or an equivalent one
	AtRandom  bool   `json:"atRandom,omitempty"` // its schedules were drawn at random
	// what the last client of the part does, unlike the others: "uses two locks"; empty: all clients do the same
	Role string `json:"role,omitempty"`
}

// String describes the part: "2 clients, one of which uses two locks, at most 1 crash and 1 expiry".
func (p Part) String() string {
	if most := p.Budget.AtMost(); most != "" {
		return p.Who() + ", " + most
	}
	return p.Who()
}

// Who describes the part's clients: "2 clients, one of which uses two locks".
func (p Part) Who() string {
	who := fmt.Sprintf("%d clients", p.Budget.Clients)
	if p.Role != "" {
		who += ", one of which " + p.Role
	}
	return who
}

// Verdict returns Invalid if there is a counterexample. It returns Valid if there is none and the search ran every
// schedule. It returns Unknown in all other cases, and also if no schedule was run at all.
func (r Result) Verdict() harness.Verdict {
	switch {
	case len(r.Counterexamples) > 0:
		return harness.Invalid
	case r.Exhausted && r.Schedules > 0:
		return harness.Valid
	}
	return harness.Unknown
}

// Rate returns the number of schedules that were run per second of real time, including pruned ones; 0: the search took
// no time.
func (r Result) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Schedules+r.Pruned) / r.Elapsed.Seconds()
}

// Summary sums up the search in one sentence.
func (r Result) Summary() string {
	switch {
	case len(r.Counterexamples) > 0:
		return fmt.Sprintf("a counterexample of %d steps: %s", r.Counterexamples[0].Length(),
			r.Counterexamples[0].Anomaly.Class)
	case r.Exhausted:
		return "no order of commands breaks it: " + r.describeParts()
	case r.Random != nil && r.Random.Schedules > 0:
		return fmt.Sprintf("nothing was found: %s. %s%s", r.describeParts(), r.Random.Guarantee(), r.WhyAtRandom())
	}
	return fmt.Sprintf("no verdict after %d schedules: %s", r.Schedules, r.Stopped)
}

// WhyAtRandom says why a random search ended before it had drawn all its schedules, in a sentence that begins with a
// space. It is empty if all were drawn.
func (r Result) WhyAtRandom() string {
	if r.Stopped == "" || r.Stopped == DrawnAtRandom {
		return ""
	}
	return " The search ended: " + strings.TrimSuffix(r.Stopped, ".") + "."
}

// describeParts lists the parts that were run: "all 50 schedules of 3 clients, at most 1 crash and 1 expiry".
func (r Result) describeParts() string {
	var parts []string
	for _, p := range r.Parts {
		parts = append(parts, p.describeExtent(r.Exhausted)+" "+p.String())
	}
	return strings.Join(parts, "; and ")
}

// describeExtent says how much of the part was run: "all 50 schedules of", "500 schedules at random of". The parameter
// all says whether the whole search is exhausted.
func (p Part) describeExtent(all bool) string {
	switch {
	case p.AtRandom:
		return fmt.Sprintf("%d schedules at random of", p.Schedules)
	case all || p.Exhausted:
		return fmt.Sprintf("all %d schedules of", p.Schedules)
	}
	return fmt.Sprintf("%d schedules of", p.Schedules)
}
