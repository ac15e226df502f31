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
	Budget   Budget          `json:"budget"`   // budget of the part that found it; 0 clients: the budget of the search's first part
	Schedule []Choice        `json:"schedule"` // choices that a replay takes again
	Steps    []Step          `json:"steps"`    // one for each thing that happened, up to the violation
	Anomaly  harness.Anomaly `json:"anomaly"`
	Ops      []harness.Op    `json:"ops"` // the whole history, in virtual time
}

// Step is one line of a counterexample.
type Step struct {
	Number  int           `json:"number"`           // place in the counterexample, from 1
	At      time.Duration `json:"at"`               // virtual time since the schedule began
	Client  int           `json:"client"`           // client that acts, from 1; 0: the world acts, see Choice
	Choice  Choice        `json:"choice"`           // choice that led to the step
	Command string        `json:"command"`          // what is sent: "SET lock client-1 NX PX 10000"; or what happens: "10 s pass: lock expires"
	Reply   string        `json:"reply,omitempty"`  // what is answered: "OK", "(nil)", "1", "(error) NOSCRIPT ..."; empty: nothing
	Belief  string        `json:"belief,omitempty"` // what the client believes from now on: "holds lock until 10.001s"; empty: no operation of it has ended
}

// Length counts the steps.
func (c Counterexample) Length() int { return len(c.Steps) }

// Text writes the counterexample as a person would write it on a whiteboard: one step a line.
func (c Counterexample) Text() string { return whiteboard(c.Steps) }

// Text writes the shortest schedule that met the situation as [Counterexample.Text] does.
func (s Situation) Text() string { return whiteboard(s.Steps) }

// whiteboard writes steps in columns: number, who acts, command, reply, belief.
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
