package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/doublegrant/doublegrant/harness/texttable"
)

// textWidth is the largest number of columns in a line of running text on a terminal.
const textWidth = 118

// ReproductionText writes a reproduction for a terminal.
func ReproductionText(w io.Writer, r Reproduction) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n\n", strings.ToUpper(string(r.Shape)), r.Title)
	for _, f := range r.facts() {
		b.WriteString(wrapBehind(fmt.Sprintf("  %-18s  ", f.Name), oneLine(f.Value)))
	}
	b.WriteString("\n")
	var t texttable.Table
	heads := r.heads()
	for i := range heads {
		heads[i] = strings.ToUpper(strings.TrimPrefix(heads[i], ":"))
	}
	t.Add(heads...)
	for _, row := range r.rows() {
		for i := range row {
			row[i] = oneLine(row[i])
		}
		t.Add(row...)
	}
	if err := t.Write(&b, texttable.Width(w)); err != nil {
		return err
	}
	b.WriteString("\n  median (least to largest) of the trials; in brackets what was published\n")
	for _, d := range r.doubts() {
		fmt.Fprintf(&b, "  unknown  %s\n", oneLine(d))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrapBehind returns text after a head, wrapped into aligned lines of a readable length.
func wrapBehind(head, text string) string {
	var b strings.Builder
	line := head
	indent := strings.Repeat(" ", len(head))
	for _, word := range strings.Fields(text) {
		if len(line)+len(word) > textWidth && strings.TrimSpace(line) != "" && line != head {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = indent
		}
		line += word + " "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	return b.String()
}
