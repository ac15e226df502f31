package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports/drawing"
)

// Summary writes summary.md, for a pull request.
func Summary(w io.Writer, r Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s: %s\n\n%s\n\n", r.Judged.Verdict, escapeMarkdown(r.Name), escapeMarkdown(r.Sentence()))
	if r.Expected != "" {
		fmt.Fprintf(&b, "Expected %s: **%s**.\n\n", escapeMarkdown(r.Expected), metWord(r.Met))
	}
	for _, warning := range r.warnings() {
		fmt.Fprintf(&b, "> %s\n\n", escapeMarkdown(warning))
	}
	summaryFacts(&b, r)
	summaryJudged(&b, r)
	summarySituations(&b, r)
	summaryAnomaly(&b, r)
	summaryFailovers(&b, r)
	if r.Command != "" {
		fmt.Fprintf(&b, "\nRun it again: %s\n", markdownCommand(r.Command))
	}
	return writeText(w, "summary", b.String())
}

func metWord(yes bool) string {
	if yes {
		return "met"
	}
	return "not met"
}

func summaryFacts(b *strings.Builder, r Report) {
	var rows [][]string
	for _, f := range append(setup(r), totals(r.Stats)...) {
		rows = append(rows, []string{escapeMarkdown(f.Name), escapeMarkdown(f.Value)})
	}
	markdownTable(b, []string{"run", ""}, rows)
}

func summaryJudged(b *strings.Builder, r Report) {
	var rows [][]string
	for _, g := range r.Judged.Judgements {
		rows = append(rows, []string{markdownCode(g.Checker), g.VerdictText(), escapeMarkdown(g.Reason)})
	}
	if len(rows) > 0 {
		b.WriteString("\n")
		markdownTable(b, []string{"checker", "verdict", "reason"}, rows)
	}
}

func summaryAnomaly(b *strings.Builder, r Report) {
	if len(r.Judged.Anomalies) == 0 {
		return
	}
	a := r.Judged.Anomalies[0]
	fmt.Fprintf(b, "\n### First anomaly: %s %s\n\n%s\n\n", escapeMarkdown(string(a.Class)),
		markdownCode(units.Clip(a.Key, 80)), escapeMarkdown(a.Note))
	aboutClass(b, a.Class)
	if len(a.Ops) == 0 {
		return
	}
	var rows [][]string
	for _, op := range opViews(a, r.History.Meta) {
		rows = append(rows, opCells(op))
	}
	markdownTable(b, []string{":client", "kind", "argument", "result", ":call", ":took", "outcome"}, rows)
}

// aboutClass explains what a class means in production, and the remedy.
func aboutClass(b *strings.Builder, c harness.Class) {
	if d := c.Doc(); d.Harm != "" {
		fmt.Fprintf(b, "%s in production: %s\n\nWhat to do: %s\n\n", escapeMarkdown(string(c)), escapeMarkdown(d.Harm),
			escapeMarkdown(d.Remedies()))
	}
}

func opCells(op opView) []string {
	return []string{
		op.Who, escapeMarkdown(string(op.Kind)), markdownCode(units.Clip(op.Arg, 60)),
		markdownCode(units.Clip(op.Result, 60)), units.At(op.Call), units.Duration(op.Took),
		escapeMarkdown(units.Clip(drawing.OutcomeText(op.Op), 80)),
	}
}

// summaryFailovers writes the stages of one failover as rows, or several failovers as rows with the stages as columns.
func summaryFailovers(b *strings.Builder, r Report) {
	switch len(r.Failovers) {
	case 0:
		return
	case 1:
		oneFailover(b, r.Failovers[0])
		return
	}
	t := failoverRows(r.Failovers)
	fmt.Fprintf(b, "\n### %d failovers\n\n%s %s.\n\n", len(r.Failovers), t.About, escapeMarkdown(r.FailoversLine()))
	heads := []string{"after fault"}
	for _, h := range t.Heads {
		heads = append(heads, ":"+h)
	}
	var rows [][]string
	for _, row := range append(t.Rows, t.Foot...) {
		rows = append(rows, append([]string{escapeMarkdown(row.Name)}, row.Cells...))
	}
	markdownTable(b, heads, rows)
	for _, r := range t.Remarks {
		fmt.Fprintf(b, "\n- %s: %s", escapeMarkdown(r.Name), escapeMarkdown(r.Value))
	}
	b.WriteString("\n")
}

func oneFailover(b *strings.Builder, f analysis.Failover) {
	head := "Failover after "
	if f.Fault < 0 {
		head = "Failover, "
	}
	fmt.Fprintf(b, "\n### %s\n\n", escapeMarkdown(head+f.Cause()+f.FromTo()))
	var rows [][]string
	for _, s := range f.Stages {
		if s.Seen {
			rows = append(rows, []string{stageName(s.Name), units.Duration(s.After), markdownCode(s.SeenBy)})
		} else {
			rows = append(rows, []string{stageName(s.Name), "not seen", escapeMarkdown(s.Note)})
		}
	}
	for _, c := range f.Costs() {
		rows = append(rows, []string{c.Name + " for", c.Took, escapeMarkdown(c.Note)})
	}
	for _, r := range f.Remarks() {
		rows = append(rows, []string{"remark", "", escapeMarkdown(r)})
	}
	markdownTable(b, []string{"stage", ":since the fault, or how long", "by"}, rows)
}

// stageName returns a milestone's name. If the name is a Sentinel's word, such as +odown, it adds what the word means.
func stageName(m analysis.Milestone) string {
	if m.Plain() == "" {
		return string(m)
	}
	return string(m) + ": " + m.Plain()
}

// CompareMarkdown writes runs as one Markdown table, for comparison. If any row has a result of the explorer, the table
// has a column for such results.
func CompareMarkdown(w io.Writer, rows []Row) error {
	heads := []string{"variant", "regime, fault", "verdict", "found", "first anomaly", ":ops/s", ":p50", ":p99"}
	asked := anyExplored(rows)
	if asked {
		heads = slices.Insert(heads, explorerColumn, "explorer")
	}
	var cells [][]string
	for _, r := range rows {
		row := []string{
			markdownCode(r.Variant), escapeMarkdown(r.Regime), markVerdict(r.Verdict), escapeMarkdown(orDash(r.Found)),
			escapeMarkdown(units.Clip(orDash(r.First), 160)),
			r.orDashForSearch(units.Whole(r.Rate)), units.Took(r.P50), units.Took(r.P99),
		}
		if asked {
			row = slices.Insert(row, explorerColumn, escapeMarkdown(orDash(r.Explorer)))
		}
		cells = append(cells, row)
	}
	var b strings.Builder
	markdownTable(&b, heads, cells)
	markdownSteps(&b, rows)
	return writeText(w, "comparison", b.String())
}

// markdownSteps writes the steps of the first searches that did not pass.
func markdownSteps(b *strings.Builder, rows []Row) {
	left := maxAnnotations
	for _, r := range rows {
		if r.passed() || r.Steps == "" || left == 0 {
			continue
		}
		left--
		fmt.Fprintf(b, "\n### %s\n\n%s", escapeMarkdown(cmp.Or(r.Regime, r.Name)), markdownBlock(r.Steps, ""))
	}
}

// explorerColumn is the index of the column with the explorer's result, after the verdict.
const explorerColumn = 3

// markVerdict emphasizes every verdict but valid.
func markVerdict(v harness.Verdict) string {
	if v == harness.Valid {
		return v.String()
	}
	return "**" + v.String() + "**"
}

// dash is shown where there is no value.
const dash = "–"

func orDash(s string) string { return cmp.Or(s, dash) }
