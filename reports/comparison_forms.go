package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/units"
)

// WriteComparison writes index.html and summary.md into dir, as Write does for a run.
func WriteComparison(dir string, c Ranking) error {
	return writeAll(dir, []Format[Ranking]{{IndexFile, ComparisonHTML}, {SummaryFile, ComparisonMarkdown}}, c)
}

// ComparisonHTML writes a comparison as one page. The page links to the report of each run and needs no other file.
func ComparisonHTML(w io.Writer, c Ranking) error {
	return render(w, "comparison.html.tmpl", comparisonPage{c, newIndex(c.Rows)})
}

// comparisonPage holds the data for the template of a comparison.
type comparisonPage struct {
	Ranking
	Index index
}

// ComparisonText writes the answer and the reasons for a terminal.
func ComparisonText(w io.Writer, c Ranking, l Layout) error {
	var b strings.Builder
	head, text := strings.ToUpper(c.Answer), c.Sentence
	if c.Best != "" && c.Best == c.Answer {
		head, text = "BETTER", c.Best+". "+text
	}
	b.WriteString(l.Fold(head+"  ", text) + "\n")
	for _, r := range c.Rows {
		b.WriteString(l.Fold("  ", strings.TrimSuffix(r.Variant+", "+r.Regime, ", ")))
		b.WriteString(l.Fold("    ", r.Why))
	}
	return writeText(w, "comparison", b.String())
}

// ComparisonMarkdown writes a comparison for a pull request: the answer, and a table of the runs. If any row has a
// result of the explorer, the table has a column for such results.
func ComparisonMarkdown(w io.Writer, c Ranking) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Which one is better: %s\n\n%s\n\n", escapeMarkdown(c.Answer), escapeMarkdown(c.Sentence))
	heads := []string{"variant", "regime, fault", "verdict", "why", ":ops/s", ":p50", ":p99"}
	asked := anyExplored(c.Rows)
	if asked {
		heads = slices.Insert(heads, explorerColumn, "explorer")
	}
	var cells [][]string
	for _, r := range c.Rows {
		row := []string{
			markdownCode(r.Variant), escapeMarkdown(r.Regime), markVerdict(r.Verdict), escapeMarkdown(r.Why),
			r.orDashForSearch(units.Whole(r.Rate)), units.Took(r.P50), units.Took(r.P99),
		}
		if asked {
			row = slices.Insert(row, explorerColumn, escapeMarkdown(orDash(r.Explorer)))
		}
		cells = append(cells, row)
	}
	markdownTable(&b, heads, cells)
	return writeText(w, "comparison", b.String())
}
