package drawing

import (
	"slices"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Story is a counterexample with the data that is needed to show it.
type Story struct {
	interleave.Counterexample
	Clients int // number of clients in the part of the search that found the counterexample
}

// lineKind is the kind of event in a line of a counterexample.
type lineKind int

const (
	asks  lineKind = iota // a client sends a command
	works                 // a client does something without Redis
	dies                  // a client crashes
	world                 // time passes, a replica is promoted, ...
	probe                 // the harness reads what is stored
)

// Line is one line of a counterexample, as the page, the terminal and the picture show it. Its texts have no control
// characters.
type Line struct {
	kind    lineKind
	Number  string
	At      time.Duration
	Client  int    // number of the client, from 0; -1: none
	Who     string // "client 1", "time", "redis", "harness"
	Command string
	Reply   string
	Belief  string
	Guilty  bool // the step ends an operation that is part of the violation
}

// Lines returns the steps of a counterexample as lines.
func (c Story) Lines() []Line {
	var all []Line
	owners := c.Owners(c.Clients)
	for i, s := range c.Steps {
		l := LineOf(s)
		l.Belief = interleave.AsOwner(owners[i], l.Belief)
		all = append(all, l)
	}
	for i, row := range c.CompletingSteps(c.Clients) {
		if row >= 0 && slices.Contains(c.Anomaly.Ops, c.Ops[i]) {
			all[row].Guilty = true
		}
	}
	return all
}

// LineOf returns a step as a line.
func LineOf(s interleave.Step) Line {
	l := Line{
		kind: kindOf(s), Number: strconv.Itoa(s.Number), At: s.At, Client: max(0, s.Client) - 1,
		Who:     s.Actor(),
		Command: units.Visible(s.Command), Reply: units.Visible(s.Reply), Belief: units.Visible(s.BeliefText()),
	}
	switch {
	case l.kind == probe:
		l.Who = "harness"
	case l.kind == world && s.Choice.IsTime():
		l.Who = "time"
	case l.kind == world:
		l.Who = "redis"
	case l.kind == works && l.Command == "":
		l.Command = "goes on"
	}
	return l
}

func kindOf(s interleave.Step) lineKind {
	switch {
	case s.Client <= 0 && s.Choice == interleave.Probe:
		return probe
	case s.Client <= 0:
		return world
	case s.Choice.IsCrash():
		return dies
	case s.Reply == "" && (s.Command == "" || isSentence(s.Command)):
		return works
	default:
		return asks
	}
}

// isSentence reports whether s begins like a sentence about a client. Commands are in capitals.
func isSentence(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(r)
}
