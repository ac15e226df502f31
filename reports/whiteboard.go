package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports/drawing"
)

const (
	lineWidth    = 150 // width of a line on a terminal, if possible
	longCommand  = 70
	shortCommand = 40
	longReply    = 40
	longBelief   = 80
)

// ExplorationText writes a search for a terminal, with its counterexamples as on a whiteboard.
func ExplorationText(w io.Writer, e Exploration) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", strings.ToUpper(e.Verdict().String()), units.Visible(e.Sentence()))
	fmt.Fprintf(&b, "  %s\n", units.Visible(e.pace()))
	for _, warning := range e.warnings() {
		fmt.Fprintf(&b, "  %s\n", units.Visible(warning))
	}
	for _, line := range SituationsText(e.situations()) {
		fmt.Fprintf(&b, "  %s\n", units.Visible(line))
	}
	if e.Expected != "" {
		fmt.Fprintf(&b, "  expected %s: %s\n", units.Visible(e.Expected), metWord(e.Met))
	}
	for i, c := range e.Result.Found {
		fmt.Fprintf(&b, "\n%s", e.whiteboard(c))
		if replay := e.replay(i); replay != "" {
			fmt.Fprintf(&b, "  replay: %s\n", replay)
		}
		if again := e.PassOn(c); again != "" {
			fmt.Fprintf(&b, "  replay anywhere: %s\n", units.Visible(again))
		}
	}
	if e.Command != "" {
		fmt.Fprintf(&b, "\nsearch again: %s\n", units.Visible(e.Command))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("reports: write text: %w", err)
	}
	return nil
}

// pace returns how much was searched, and how fast.
func (e Exploration) pace() string {
	r := e.Result
	s := fmt.Sprintf("%s: %s schedules and %s pruned, %s steps, in %s (%s schedules a second)", e.title(),
		units.Count(int64(r.Schedules)), units.Count(int64(r.Pruned)), units.Count(int64(r.Steps)),
		units.Duration(r.Elapsed), units.Whole(r.Rate()))
	if len(r.Found) > 0 {
		s += ", first counterexample after " + units.Took(r.First)
	}
	return s
}

// whiteboard writes one counterexample: a numbered list in columns, followed by the violation in one sentence.
func (e Exploration) whiteboard(c interleave.Counterexample) string {
	lines := e.story(c).Lines()
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s:\n", units.Visible(string(c.Anomaly.Class)), stepCount(c))
	w := columnsOf(lines)
	for _, l := range lines {
		b.WriteString("  " + w.write(l) + "\n")
	}
	fmt.Fprintf(&b, "  %s\n", e.note(c))
	if c.Shrunk != nil {
		fmt.Fprintf(&b, "  %s\n", c.Shrunk)
	}
	return b.String()
}

// columns holds the widths of a whiteboard's columns, in letters.
type columns struct{ number, who, command, reply int }

// columnsOf makes every column as wide as its longest text. If the lines get too long, the column of commands is
// narrowed.
func columnsOf(lines []drawing.Line) columns {
	var w columns
	belief := 0
	for _, l := range lines {
		w.number, w.who = max(w.number, units.Letters(l.Number)), max(w.who, units.Letters(l.Who))
		w.command, w.reply = max(w.command, units.Letters(l.Command)),
			max(w.reply, min(longReply, units.Letters(l.Reply)))
		belief = max(belief, min(longBelief, units.Letters(l.Belief)))
	}
	rest := w.number + w.who + w.reply + belief + len("  ")*4 + len(" -> ")
	w.command = min(w.command, longCommand, max(shortCommand, lineWidth-rest))
	return w
}

// write writes one line.
func (w columns) write(l drawing.Line) string {
	s := fmt.Sprintf("%*s  %-*s  %-*s  %-*s", w.number, l.Number, w.who, l.Who, w.command,
		units.Squeeze(l.Command, w.command),
		w.reply, units.Squeeze(l.Reply, w.reply))
	if l.Belief != "" {
		return s + " -> " + units.Squeeze(l.Belief, longBelief)
	}
	return strings.TrimRight(s, " ")
}
