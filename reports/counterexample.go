package reports

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"al.essio.dev/pkg/shellescape"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// lineKind is what a line of a counterexample tells.
type lineKind int

const (
	asks  lineKind = iota // a client sends a command
	works                 // a client does something that Redis does not hear of
	dies                  // a client crashes
	world                 // time passes, a replica is promoted, ...
	probe                 // the harness looks at what is left
)

// line is one line of a counterexample, as the page, the terminal and the picture show it. Its texts are harmless on a
// terminal.
type line struct {
	kind    lineKind
	Number  string
	At      time.Duration
	Client  int    // from 0; -1: none
	Who     string // "client 1", "time", "redis", "harness"
	Command string
	Reply   string
	Belief  string
	Guilty  bool // it ends one of the operations that make the violation
}

// lines are the steps of a counterexample.
func (e Exploration) lines(c interleave.Counterexample) []line {
	var all []line
	for _, s := range c.Steps {
		all = append(all, lineOf(s))
	}
	for i, row := range e.answers(c) {
		if row >= 0 && slices.Contains(c.Anomaly.Ops, c.Ops[i]) {
			all[row].Guilty = true
		}
	}
	return all
}

func lineOf(s interleave.Step) line {
	l := line{
		kind: kindOf(s), Number: strconv.Itoa(s.Number), At: s.At, Client: max(0, s.Client) - 1,
		Who:     fmt.Sprintf("client %d", s.Client),
		Command: visible(s.Command), Reply: visible(s.Reply), Belief: visible(s.Belief),
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
	case s.Reply == "" && (s.Command == "" || lower(s.Command)):
		return works
	default:
		return asks
	}
}

// lower reports whether s begins as a sentence about a client does, and not as a command: those are in capitals.
func lower(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(r)
}

// client is the client, from 0, behind the id of an operation of c; -1 for the harness. The explorer's ids count from 1, as
// its steps do, and worker 0 is nobody's.
func (e Exploration) client(c interleave.Counterexample, id int) int {
	return max(-1, harness.Meta{Workers: e.clientsOf(c) + 1}.Worker(id)-1)
}

// clientsOf is how many clients the counterexample has: parts of a search have fewer than others.
func (e Exploration) clientsOf(c interleave.Counterexample) int {
	return cmp.Or(c.Budget.Clients, e.clients())
}

// note is the violation in one sentence.
func (e Exploration) note(c interleave.Counterexample) string { return visible(c.Anomaly.Note) }

// visible makes what could steer a terminal, or turn the direction of a text, visible and harmless.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// squeeze shortens s to n runes and leaves out its middle: commands differ at the beginning and at the end.
func squeeze(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	n = max(n, 3)
	tail := (n - 1) / 3
	return string(r[:n-1-tail]) + "…" + string(r[len(r)-tail:])
}

// replay is the command that runs the counterexample of that index again; empty without a file.
func (e Exploration) replay(i int) string {
	if e.Files[i] == "" {
		return ""
	}
	return "doublegrant explore --replay " + visible(shellescape.Quote(filepath.Join(e.Dir, e.Files[i])))
}
