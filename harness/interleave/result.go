package interleave

import (
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Result says what a search found. Its counts add up all parts of the search. The zero value has run nothing, and its
// verdict is unknown.
type Result struct {
	Schedules int `json:"schedules"` // schedules that were run to their end and judged
	Pruned    int `json:"pruned"`    // schedules that were given up, since another one shows the same
	Steps     int `json:"steps"`     // steps of all schedules together, pruned ones included
	// whether every schedule within the budgets was run, or one that shows the same
	Exhausted bool `json:"exhausted"`
	// why it is not exhausted: what ended it early, or why its schedules show nothing
	Stopped string `json:"stopped,omitempty"`
	// real time from the start of the search to the first counterexample; 0: none
	First   time.Duration `json:"first"`
	Elapsed time.Duration `json:"elapsed"`         // real time that the search took
	Budget  Budget        `json:"budget"`          // budget of the first part
	Parts   []Part        `json:"parts,omitempty"` // searches that make up this one, in their order
	// Random says what a search at random promises. nil: every schedule was to be run.
	Random *Random `json:"random,omitempty"`
	// Limits says in words what the search could not look at on this machine, or could not rely on. It is empty if
	// there is nothing.
	Limits []string `json:"limits,omitempty"`
	// Situations lists the situations that schedules met and, with a count of 0, those that they could have met and did
	// not.
	Situations []Situation `json:"situations,omitempty"`
	// Found lists the smallest counterexample of each class, the shortest first.
	Found []Counterexample `json:"found"`
}

// Situation is a situation with the shortest schedule that met it. If none did, Count is 0 and there are no steps.
type Situation struct {
	harness.Situation
	Steps []Step `json:"steps,omitempty"` // steps of that schedule
}

// Part sums up a search with one budget.
type Part struct {
	Budget    Budget `json:"budget"`
	Schedules int    `json:"schedules"`          // schedules that were run to their end and judged
	Pruned    int    `json:"pruned"`             // schedules that were given up, since another one shows the same
	Exhausted bool   `json:"exhausted"`          // whether every schedule within the budget was run, or one that shows the same
	AtRandom  bool   `json:"atRandom,omitempty"` // whether its schedules were drawn at random
}

// Verdict is Invalid if anything was found, Valid if the search ran every schedule and at least one, and Unknown
// otherwise.
func (r Result) Verdict() harness.Verdict {
	switch {
	case len(r.Found) > 0:
		return harness.Invalid
	case r.Exhausted && r.Schedules > 0:
		return harness.Valid
	}
	return harness.Unknown
}

// Rate returns schedules per second of real time, pruned ones included. It is 0 for a search that took no time.
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
		return "no order of commands breaks it: " + r.describeParts()
	case r.Random != nil && r.Random.Schedules > 0:
		return fmt.Sprintf("nothing was found: %s. %s%s", r.describeParts(), r.Random.Guarantee(), r.WhyAtRandom())
	}
	return fmt.Sprintf("nothing can be said after %d schedules: %s", r.Schedules, r.Stopped)
}

// WhyAtRandom says why a search at random ended early, or shows nothing. The sentence begins with a space, to follow
// another. It is empty if the search came to its end.
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
		parts = append(parts, fmt.Sprintf("%s %s", p.describeExtent(r.Exhausted), p.Budget))
	}
	return strings.Join(parts, "; and ")
}

// describeExtent says how much of the part was run: "all 50 schedules of", "500 schedules at random of". all says that
// the whole search is exhausted.
func (p Part) describeExtent(all bool) string {
	switch {
	case p.AtRandom:
		return fmt.Sprintf("%d schedules at random of", p.Schedules)
	case all || p.Exhausted:
		return fmt.Sprintf("all %d schedules of", p.Schedules)
	}
	return fmt.Sprintf("%d schedules of", p.Schedules)
}
