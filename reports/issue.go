package reports

import (
	"bytes"
	"fmt"
	"io"

	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/units"
)

// IssueMarkdown writes a search as text for an issue tracker: each counterexample with the promise, the finding, the
// steps and the command that repeats it, and the versions of all programs and libraries involved.
func IssueMarkdown(w io.Writer, e Exploration) error {
	var b bytes.Buffer
	if len(e.Result.Counterexamples) == 0 {
		fmt.Fprintf(&b, "## %s: %s\n\n%s\n\n", escapeMarkdown(e.title()), e.Verdict(), escapeMarkdown(e.Sentence()))
	}
	for _, c := range e.Result.Counterexamples {
		if err := e.issue(&b, c); err != nil {
			return fmt.Errorf("reports: write markdown: %w", err)
		}
	}
	if err := e.writeSetup(&b); err != nil {
		return fmt.Errorf("reports: write markdown: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("reports: write markdown: %w", err)
	}
	return nil
}

// issue writes one counterexample.
func (e Exploration) issue(w io.Writer, c interleave.Counterexample) error {
	class := c.Anomaly.Class
	fmt.Fprintf(w, "## %s: %s in %s\n\n", escapeMarkdown(e.title()), escapeMarkdown(string(class)), stepCount(c))
	if promise := promises[class]; promise != "" {
		fmt.Fprintf(w, "**Promised:** %s\n\n", promise)
	}
	fmt.Fprintf(w, "**Found:** %s", escapeMarkdown(e.note(c)))
	if meaning := class.Doc().Meaning; meaning != "" {
		fmt.Fprintf(w, " (%s)", meaning)
	}
	fmt.Fprint(w, "\n\n")
	var rows [][]string
	for _, l := range e.story(c).Lines() {
		rows = append(rows, []string{l.Number, units.At(l.At), escapeMarkdown(l.Who), markdownCode(l.Command),
			markdownCode(l.Reply), escapeMarkdown(l.Belief)})
	}
	heads := []string{":step", ":at", "client", "command", "reply", "believes now"}
	if err := markdownTable(w, heads, rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if again := e.PassOn(c); again != "" {
		fmt.Fprintf(w, "**Repeat it:** %s\n\n", markdownCommand(again))
	}
	return nil
}

// writeSetup writes what was searched, the versions, and the command that repeats the search.
func (e Exploration) writeSetup(w io.Writer) error {
	var rows [][]string
	for _, v := range e.Versions {
		rows = append(rows, []string{escapeMarkdown(v.Name), escapeMarkdown(v.Version)})
	}
	for _, f := range e.setup() {
		rows = append(rows, []string{escapeMarkdown(f.Name), escapeMarkdown(f.Value)})
	}
	if err := markdownTable(w, []string{"with", ""}, rows); err != nil {
		return err
	}
	if e.Command != "" {
		fmt.Fprintf(w, "\n**Search again:** %s\n", markdownCommand(e.Command))
	}
	return nil
}
