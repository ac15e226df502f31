package reports

import (
	"fmt"
	"strings"

	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports/drawing"
)

// columns holds the width of a step table (width) and the widths of its columns, in letters.
type columns struct{ width, number, who, command, reply int }

// stepTable writes the steps of a counterexample in columns: number, client, command, reply and belief. A text that is
// too wide is continued on a line below, broken between words.
func stepTable(lines []drawing.Line, width int) string {
	w := columns{width: width}
	for i := range lines {
		l := &lines[i]
		l.Command, l.Reply = units.Squeeze(l.Command, longCommand), units.Squeeze(l.Reply, longReply)
		l.Belief = units.Squeeze(l.Belief, longBelief)
		w.number, w.who = max(w.number, units.Letters(l.Number)), max(w.who, units.Letters(l.Who))
		w.reply = max(w.reply, units.Letters(l.Reply))
	}
	return w.fitted(lines).text(lines)
}

// fitted returns the columns with the best width for commands: the width at which the table has the fewest lines. If
// several widths are equally good, it takes the largest.
func (w columns) fitted(lines []drawing.Line) columns {
	best, fewest := w, 0
	for _, l := range lines {
		w.command = units.Letters(l.Command)
		if n := strings.Count(w.text(lines), "\n"); fewest == 0 || n < fewest || n == fewest && w.command > best.command {
			best, fewest = w, n
		}
	}
	return best
}

// text writes all lines.
func (w columns) text(lines []drawing.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(w.line(l))
	}
	return b.String()
}

// line writes one step. If the step does not fit into one line, the belief is on a line below. If that does not
// suffice, the reply is below as well.
func (w columns) line(l drawing.Line) string {
	head := fmt.Sprintf("  %*s  %-*s  ", w.number, l.Number, w.who, l.Who)
	indent, belief := strings.Repeat(" ", units.Letters(head)), ""
	if l.Belief != "" {
		belief = "-> " + l.Belief
	}
	if w.width-len(indent) < narrowRoom {
		return strings.TrimRight(head, " ") + "\n" + w.below("    ", l.Command) + w.below("      ", l.Reply) +
			w.below("      ", belief)
	}
	if units.Letters(l.Command) <= w.command {
		start := fmt.Sprintf("%s%-*s  ", head, w.command, l.Command)
		aligned := fmt.Sprintf("%s%-*s %s", start, w.reply, l.Reply, belief)
		for _, whole := range []string{aligned, start + l.Reply + " " + belief} {
			if whole = strings.TrimRight(whole, " "); units.Letters(whole) <= w.width {
				return whole + "\n"
			}
		}
		if start = strings.TrimRight(start+l.Reply, " "); units.Letters(start) <= w.width {
			return start + "\n" + w.below(indent+"  ", belief)
		}
	}
	return texttable.Fold(head, l.Command, w.width) + w.below(indent+"  ", strings.TrimSpace(l.Reply+" "+belief))
}

// below returns a text as separate lines below an entry. It returns "" if the text is empty.
func (w columns) below(indent, text string) string {
	if text == "" {
		return ""
	}
	return texttable.Fold(indent, text, w.width)
}
