package reports

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// SuiteSummary writes the summary.md of a suite, for a pull request.
func SuiteSummary(w io.Writer, s tally.Suite) error {
	var b bytes.Buffer
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
	if err := markdownTable(&b, append([]string{"run", "ended"}, suiteHeads(s)...), rows); err != nil {
		return fmt.Errorf("reports: write summary: %w", err)
	}
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
	if err := shardsSummary(&b, s); err != nil {
		return fmt.Errorf("reports: write summary: %w", err)
	}
	for _, f := range slices.Concat(suiteFacts(s), failoverFacts(s), shardFacts(s), memoryFacts(s.Memory)) {
		fmt.Fprintf(&b, "\n- %s: %s", escapeMarkdown(f.Name), escapeMarkdown(f.Value))
	}
	if _, err := fmt.Fprintln(w, b.String()); err != nil {
		return fmt.Errorf("reports: write summary: %w", err)
	}
	return nil
}

// shardsSummary writes the shards of a suite as a table. It writes nothing if there are none.
func shardsSummary(b *bytes.Buffer, s tally.Suite) error {
	if len(s.Shards) == 0 {
		return nil
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
	return markdownTable(b, append([]string{"shard"}, shardHeads...), rows)
}
