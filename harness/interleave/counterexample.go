package interleave

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Counterexample is one schedule that ends in a violation.
type Counterexample struct {
	// budget of the part of the search that found it; if Budget.Clients is 0, the budget of the search's first part
	Budget   Budget          `json:"budget"`
	Schedule []Choice        `json:"schedule"` // choices for a replay
	Steps    []Step          `json:"steps"`    // what happened, up to the violation
	Anomaly  harness.Anomaly `json:"anomaly"`
	Ops      []harness.Op    `json:"ops"` // all operations, in virtual time
	// Shrunk says how long the schedule was before it was shrunk; nil: it was not shrunk.
	Shrunk *Shrunk `json:"shrunk,omitempty"`
	// Recipe is the counterexample as one word for a replay: see [Recipe]. It is empty if the program has no name.
	Recipe string `json:"recipe,omitempty"`
}

// Step is one line of a counterexample.
type Step struct {
	Number int           `json:"number"` // position in the counterexample, from 1
	At     time.Duration `json:"at"`     // virtual time since the schedule began
	Client int           `json:"client"` // client that acts, from 1; 0: no client, see Choice
	Choice Choice        `json:"choice"` // choice that led to the step
	// what is sent: "SET lock client-1 NX PX 10000", or what happens: "10 s pass: lock expires"
	Command string `json:"command"`
	// the answer: "OK", "(nil)", "1", "(error) NOSCRIPT ..."; empty: none
	Reply string `json:"reply,omitempty"`
	// what the client believes from now on: "holds lock until 10.001s"; empty: nothing new
	Belief string `json:"belief,omitempty"`
	// how a key's lease differs from the lease that was asked for: "lock lasts 10s, 10.5s were asked for"
	Lease string `json:"lease,omitempty"`
	Store *Store `json:"store,omitempty"` // the store after the step; nil: not read
}

// BeliefText returns Belief and Lease as one text for readers.
func (s Step) BeliefText() string {
	if s.Belief == "" || s.Lease == "" {
		return s.Belief + s.Lease
	}
	return s.Belief + ", but " + s.Lease
}

// Store is the content of the server's store.
type Store struct {
	Keys []Stored `json:"keys,omitempty"` // sorted by name
	More int      `json:"more,omitempty"` // number of keys that are left out
}

// Stored is one key of the store.
type Stored struct {
	Key   string        `json:"key"`
	Value string        `json:"value"`          // on one line, as redis-cli shows it; a long value lacks its middle
	Ends  time.Duration `json:"ends,omitempty"` // last virtual time at which the key exists; 0: the key does not expire
}

// Actor names the client that acts, and its thread unless that is the first: "client 1", "client 1, thread 2"; "-": no
// client.
func (s Step) Actor() string {
	switch {
	case s.Client <= 0:
		return "-"
	case s.Choice.Thread() > 0:
		return fmt.Sprintf("client %d%s%d", s.Client, ofThread, s.Choice.Thread()+1)
	}
	return fmt.Sprintf("client %d", s.Client)
}

// Length counts the steps.
func (c Counterexample) Length() int { return len(c.Steps) }

// Text writes the counterexample as on a whiteboard: one step per line.
func (c Counterexample) Text() string { return whiteboard(c.Steps, c.Owners(c.Budget.Clients)) }

// Text writes the shortest schedule that met the situation, in the form of [Counterexample.Text].
func (s Situation) Text() string { return whiteboard(s.Steps, make([]string, len(s.Steps))) }

// whiteboard writes steps in columns: number, client, command, reply, belief. The parameter owners holds, for each
// step, the owner to show in front of its belief, or an empty string.
func whiteboard(steps []Step, owners []string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, s := range steps {
		belief := ""
		if text := AsOwner(owners[i], s.BeliefText()); text != "" {
			belief = "-> " + text
		}
		fmt.Fprintf(w, "  %d\t%s\t%s\t%s\t%s\n", s.Number, s.Actor(), s.Command, s.Reply, belief)
	}
	_ = w.Flush() // never fails
	return b.String()
}
