package trackrecord

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/workloads/bugs"
)

// The table stands between these two lines of a file.
const (
	tableBegins = "<!-- written by make bugs -->\n"
	tableEnds   = "<!-- end -->\n"
)

// WriteTable replaces the table in a Markdown file by a table of the given outcomes. The error wraps plan.ErrUsage if
// the file lacks the lines that mark the beginning and the end of the table.
func WriteTable(file string, outs []Outcome) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return plan.Usagef("no table: %w", err)
	}
	before, rest, begins := bytes.Cut(text, []byte(tableBegins))
	_, after, ends := bytes.Cut(rest, []byte(tableEnds))
	if !begins || !ends {
		return plan.Usagef("no table: %s lacks the line %q or, after it, %q", file, strings.TrimSpace(tableBegins),
			strings.TrimSpace(tableEnds))
	}
	var t bytes.Buffer
	t.Write(before)
	t.WriteString(tableBegins)
	t.WriteString("\n| bug/ | library | class | conditions | shown in | fixed in | upstream |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, out := range outs {
		fmt.Fprintf(&t, "| %s |\n", strings.Join(out.cells(), " | "))
	}
	t.WriteString("\n")
	t.WriteString(tableEnds)
	t.Write(after)
	return os.WriteFile(file, t.Bytes(), 0o644)
}

// cells returns the cells of an entry's row in the table.
func (out Outcome) cells() []string {
	b := out.Bug
	shown := string(out.Ending)
	if out.Ending == Shown {
		shown = strings.TrimPrefix(out.Shown.found(b.Class), string(b.Class)+" in ")
	}
	fixed := cmp.Or(b.Fixed, "-")
	if b.FixedOn != "" {
		fixed += ", " + b.FixedOn
	}
	if out.Holds != nil && out.Ending == Shown {
		fixed += fmt.Sprintf("; %s holds", out.Holds.Version)
	}
	return []string{fmt.Sprintf("[%s](%s/%s)", b.ID, b.ID, bugs.Entry), b.Library + " " + b.Shown.Version,
		string(b.Class), b.Conditions, shown, fixed, cmp.Or(strings.Join(b.Upstream.Issues, ", "), "-")}
}
