package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// SuiteSummary writes the summary.md of a suite, for a pull request.
func SuiteSummary(w io.Writer, s tally.Suite) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s: %s\n\n%s\n\n", suiteWord(s), escapeMarkdown(s.Name), escapeMarkdown(SuiteSentence(s)))
	if s.Ended != "" {
		fmt.Fprintf(&b, "> It ended early: %s.\n\n", escapeMarkdown(s.Ended))
	}
	var rows [][]string
	for _, row := range suiteRows(s) {
		cells := []string{escapeMarkdown(row.Name), "**" + row.Ends + "**"}
		for _, c := range row.Cells {
			cells = append(cells, escapeMarkdown(c))
		}
		rows = append(rows, cells)
	}
	markdownTable(&b, append([]string{"run", "ended"}, suiteHeads(s)...), rows)
	const most = 10
	failures, others := s.Failures(most)
	for _, r := range failures {
		fmt.Fprintf(&b, "\n- **%s** %s", r.Ending, escapeMarkdown(units.Clip(runHeadline(r), 400)))
		fmt.Fprintf(&b, "\n  What to do: %s", escapeMarkdown(advice(r)))
		if r.Command != "" {
			fmt.Fprintf(&b, "\n  %s", markdownCommand(r.Command))
		}
		if r.Steps != "" {
			fmt.Fprintf(&b, "\n\n%s", markdownBlock(r.Steps, "  "))
		}
	}
	if others > 0 {
		fmt.Fprintf(&b, "\n- and %s more, in suite.jsonl", units.Count(int64(others)))
	}
	fmt.Fprintln(&b)
	shardsSummary(&b, s)
	for _, f := range slices.Concat(suiteFacts(s), failoverFacts(s), shardFacts(s), memoryFacts(s.Memory)) {
		fmt.Fprintf(&b, "\n- %s: %s", escapeMarkdown(f.Name), escapeMarkdown(f.Value))
	}
	return writeText(w, "summary", b.String()+"\n")
}

// shardsSummary writes the shards of a suite as a table. It writes nothing if there are none.
func shardsSummary(b *strings.Builder, s tally.Suite) {
	if len(s.Shards) == 0 {
		return
	}
	var rows [][]string
	for _, r := range s.Shards {
		row := []string{r.String()}
		for _, c := range shardCells(r) {
			row = append(row, escapeMarkdown(c))
		}
		rows = append(rows, row)
	}
	fmt.Fprintln(b)
	markdownTable(b, append([]string{"shard"}, shardHeads...), rows)
}
