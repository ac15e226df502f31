package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/doublegrant/doublegrant/harness/texttable"
)

// ReproductionText writes a reproduction for a terminal.
func ReproductionText(w io.Writer, r Reproduction, l Layout) error {
	var b strings.Builder
	b.WriteString(l.Fold(strings.ToUpper(string(r.Shape))+"  ", r.Title) + "\n")
	for _, f := range r.facts() {
		b.WriteString(l.Fold(fmt.Sprintf("  %-18s  ", f.Name), f.Value))
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
	_ = t.Write(&b, l.width()) // a strings.Builder never fails
	b.WriteString("\n" + l.Fold("  ", "median (least to largest) of the trials; in brackets what was published"))
	for _, d := range r.doubts() {
		b.WriteString(l.Fold("  unknown  ", d))
	}
	return writeText(w, "text", b.String())
}
