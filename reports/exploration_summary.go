package reports

import (
	"fmt"
	"io"
	"strings"
)

// ExplorationSummary writes the summary.md of a search, for a pull request.
func ExplorationSummary(w io.Writer, e Exploration) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s: %s\n\n%s\n\n", e.Verdict(), escapeMarkdown(e.title()), escapeMarkdown(e.Sentence()))
	if e.Expected != "" {
		fmt.Fprintf(&b, "Expected %s: **%s**.\n\n", escapeMarkdown(e.Expected), metWord(e.Met))
	}
	for _, warning := range e.warnings() {
		fmt.Fprintf(&b, "> %s\n\n", escapeMarkdown(warning))
	}
	if len(e.Result.Counterexamples) > 0 {
		fmt.Fprintf(&b, "%s\n", markdownBlock(e.whiteboard(e.Result.Counterexamples[0], pageWidth), ""))
		aboutClass(&b, e.Result.Counterexamples[0].Anomaly.Class)
	}
	var rows [][]string
	for _, f := range append(e.setup(), e.numbers()...) {
		rows = append(rows, []string{escapeMarkdown(f.Name), escapeMarkdown(f.Value)})
	}
	markdownTable(&b, []string{"search", ""}, rows)
	for _, line := range SituationsText(e.situations()) {
		fmt.Fprintf(&b, "\n%s\n", escapeMarkdown(line))
	}
	for _, again := range e.repeats() {
		if again.Value != "" {
			fmt.Fprintf(&b, "\n%s: %s\n", again.Name, markdownCommand(again.Value))
		}
	}
	return writeText(w, "summary", b.String())
}

// repeats lists the commands that repeat the smallest counterexample, and the search. A command may be empty.
func (e Exploration) repeats() []fact {
	all := []fact{{"Replay it", e.replay(0)}}
	if len(e.Result.Counterexamples) > 0 {
		all = append(all, fact{"Replay it anywhere", e.PassOn(e.Result.Counterexamples[0])})
	}
	return append(all, fact{"Search again", e.Command})
}
