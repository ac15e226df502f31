package explore

import (
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
