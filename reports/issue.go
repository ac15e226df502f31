package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/units"
)

// IssueMarkdown writes a search as text for an issue tracker: each counterexample with the promise, the finding, the
// steps and the command that repeats it, and the versions of all programs and libraries involved.
func IssueMarkdown(w io.Writer, e Exploration) error {
	var b strings.Builder
	if len(e.Result.Counterexamples) == 0 {
		fmt.Fprintf(&b, "## %s: %s\n\n%s\n\n", escapeMarkdown(e.title()), e.Verdict(), escapeMarkdown(e.Sentence()))
	}
	for _, c := range e.Result.Counterexamples {
		e.issue(&b, c)
	}
	e.writeSetup(&b)
	return writeText(w, "markdown", b.String())
}

// issue writes one counterexample.
func (e Exploration) issue(b *strings.Builder, c interleave.Counterexample) {
	class := c.Anomaly.Class
	fmt.Fprintf(b, "## %s: %s in %s\n\n", escapeMarkdown(e.title()), escapeMarkdown(string(class)), stepCount(c))
	if promise := promises[class]; promise != "" {
		fmt.Fprintf(b, "**Promised:** %s\n\n", promise)
	}
	fmt.Fprintf(b, "**Found:** %s", escapeMarkdown(e.note(c)))
	if meaning := class.Doc().Meaning; meaning != "" {
		fmt.Fprintf(b, " (%s)", meaning)
	}
	b.WriteString("\n\n")
	var rows [][]string
	for _, l := range e.story(c).Lines() {
		rows = append(rows, []string{l.Number, units.At(l.At), escapeMarkdown(l.Who), markdownCode(l.Command),
			markdownCode(l.Reply), escapeMarkdown(l.Belief)})
	}
	markdownTable(b, []string{":step", ":at", "client", "command", "reply", "believes now"}, rows)
	b.WriteString("\n")
	if again := e.PassOn(c); again != "" {
		fmt.Fprintf(b, "**Repeat it:** %s\n\n", markdownCommand(again))
	}
}

// writeSetup writes what was searched, the versions, and the command that repeats the search.
func (e Exploration) writeSetup(b *strings.Builder) {
	var rows [][]string
	for _, v := range e.Versions {
		rows = append(rows, []string{escapeMarkdown(v.Name), escapeMarkdown(v.Version)})
	}
	for _, f := range e.setup() {
		rows = append(rows, []string{escapeMarkdown(f.Name), escapeMarkdown(f.Value)})
	}
	markdownTable(b, []string{"with", ""}, rows)
	if e.Command != "" {
		fmt.Fprintf(b, "\n**Search again:** %s\n", markdownCommand(e.Command))
	}
}
