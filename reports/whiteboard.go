package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/units"
)

const (
	pageWidth   = 150 // columns of a whiteboard in a page
	longCommand = 160
	longReply   = 40
	longBelief  = 160
	narrowRoom  = 24 // if fewer columns are left for commands, each command is written on a line below its client
)

// ExplorationText writes a search for a terminal: its counterexamples as on a whiteboard, followed by how much was
// searched.
func ExplorationText(w io.Writer, e Exploration, l Layout) error {
	var b strings.Builder
	b.WriteString(l.Fold(strings.ToUpper(e.Verdict().String())+"  ", e.headline()))
	for i, c := range e.Result.Counterexamples {
		fmt.Fprintf(&b, "\n%s", e.whiteboard(c, l.width()))
		if replay := e.replay(i); replay != "" {
			fmt.Fprintf(&b, "  replay: %s\n", replay)
		}
		if again := e.PassOn(c); again != "" {
			fmt.Fprintf(&b, "  replay anywhere: %s\n", units.Visible(again))
		}
	}
	if len(e.Result.Counterexamples) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(l.Fold("searched: ", e.pace()))
	if l.Verbose {
		b.WriteString(e.statistics(l))
	}
	for _, warning := range e.warnings() {
		b.WriteString(l.Fold("  ", warning))
	}
	if e.Expected != "" {
		b.WriteString(l.Fold("expected: ", e.Expected+": "+metWord(e.Met)))
	}
	if e.Command != "" {
		fmt.Fprintf(&b, "search again: %s\n", units.Visible(e.Command))
	}
	return writeText(w, "text", b.String())
}

// ReplayText writes a counterexample of e after it was replayed the given number of times. All replays had the same
// steps.
func ReplayText(w io.Writer, e Exploration, c interleave.Counterexample, times int, l Layout) error {
	var b strings.Builder
	b.WriteString(l.Fold("INVALID  ", fmt.Sprintf("%s: %s in %s, the same %d of %d times", e.Variant, c.Anomaly.Class,
		stepCount(c), times, times)))
	b.WriteString("\n" + e.whiteboard(c, l.width()))
	if again := e.PassOn(c); again != "" {
		fmt.Fprintf(&b, "  replay anywhere: %s\n", units.Visible(again))
	}
	return writeText(w, "text", b.String())
}

// statistics lists the parts of a search and the situations that it met.
func (e Exploration) statistics(l Layout) string {
	var b strings.Builder
	r := e.Result
	b.WriteString(l.Fold("  ", fmt.Sprintf("%s steps, %s schedules pruned, %s schedules a second",
		units.Count(int64(r.Steps)), units.Count(int64(r.Pruned)), units.Whole(r.Rate()))))
	for _, part := range e.parts() {
		b.WriteString(l.Fold("  ", part))
	}
	for _, line := range SituationsText(e.situations()) {
		b.WriteString(l.Fold("  ", line))
	}
	return b.String()
}

// pace returns how much was searched, and how fast.
func (e Exploration) pace() string {
	r := e.Result
	s := e.schedules()
	if n := len(r.Parts); n > 1 {
		s += fmt.Sprintf(" in %d parts", n)
	}
	s += ", in " + units.Duration(r.Elapsed)
	if len(r.Counterexamples) > 0 {
		s += "; first found after " + units.Took(r.First)
	}
	return s
}

// Steps returns counterexample i as text with up to 150 columns: its steps, and the violation in one sentence. If the
// counterexample has a recipe, the last line is the command that replays it on any machine.
func (e Exploration) Steps(i int) string {
	c := e.Result.Counterexamples[i]
	s := e.whiteboard(c, pageWidth)
	if again := e.PassOn(c); again != "" {
		s += "  replay anywhere: " + units.Visible(again) + "\n"
	}
	return s
}

// whiteboard writes one counterexample: a numbered list in columns, followed by the violation in one sentence. Lines
// have at most width columns.
func (e Exploration) whiteboard(c interleave.Counterexample, width int) string {
	var b strings.Builder
	l := Layout{Width: width}
	b.WriteString(l.Fold("", fmt.Sprintf("%s in %s:", c.Anomaly.Class, stepCount(c))))
	b.WriteString(stepTable(e.story(c).Lines(), width))
	b.WriteString(l.Fold("  ", e.note(c)))
	if c.Shrunk != nil {
		b.WriteString(l.Fold("  ", c.Shrunk.String()))
	}
	return b.String()
}
