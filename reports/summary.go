package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports/drawing"
)

// Summary writes summary.md, for a pull request.
func Summary(w io.Writer, r Report) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## %s: %s\n\n%s\n\n", r.Judged.Verdict, escapeMarkdown(r.Name), escapeMarkdown(r.Sentence()))
	if r.Expected != "" {
		fmt.Fprintf(&b, "Expected %s: **%s**.\n\n", escapeMarkdown(r.Expected), metWord(r.Met))
	}
	for _, warning := range r.warnings() {
		fmt.Fprintf(&b, "> %s\n\n", escapeMarkdown(warning))
	}
	for _, part := range []func(io.Writer, Report) error{
		summaryFacts, summaryJudged, summarySituations, summaryAnomaly, summaryFailovers, summaryCommand,
	} {
		if err := part(&b, r); err != nil {
			return fmt.Errorf("reports: write summary: %w", err)
		}
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("reports: write summary: %w", err)
	}
	return nil
}

func metWord(yes bool) string {
	if yes {
		return "met"
	}
	return "not met"
}

func summaryFacts(w io.Writer, r Report) error {
	var rows [][]string
	for _, f := range append(setup(r), totals(r.Stats)...) {
		rows = append(rows, []string{escapeMarkdown(f.Name), escapeMarkdown(f.Value)})
	}
	return markdownTable(w, []string{"run", ""}, rows)
}

func summaryJudged(w io.Writer, r Report) error {
	var rows [][]string
	for _, g := range r.Judged.Judgements {
		rows = append(rows, []string{markdownCode(g.Checker), g.VerdictText(), escapeMarkdown(g.Reason)})
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return markdownTable(w, []string{"checker", "verdict", "reason"}, rows)
}

func summaryAnomaly(w io.Writer, r Report) error {
	if len(r.Judged.Anomalies) == 0 {
		return nil
	}
	a := r.Judged.Anomalies[0]
	fmt.Fprintf(w, "\n### First anomaly: %s %s\n\n%s\n\n", escapeMarkdown(string(a.Class)),
		markdownCode(units.Clip(a.Key, 80)), escapeMarkdown(AlignTimes(a.Note)))
	aboutClass(w, a.Class)
	if len(a.Ops) == 0 {
		return nil
	}
	var rows [][]string
	for _, op := range opViews(a, r.History.Meta) {
		rows = append(rows, opCells(op))
	}
	return markdownTable(w, []string{":client", "kind", "argument", "result", ":call", ":took", "outcome"}, rows)
}

// aboutClass explains what a class means in production, and the remedy.
func aboutClass(w io.Writer, c harness.Class) {
	if d := c.Doc(); d.Harm != "" {
		fmt.Fprintf(w, "%s in production: %s\n\nWhat to do: %s\n\n", escapeMarkdown(string(c)), escapeMarkdown(d.Harm),
			escapeMarkdown(d.Remedy))
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
func summaryFailovers(w io.Writer, r Report) error {
	switch len(r.Failovers) {
	case 0:
		return nil
	case 1:
		return oneFailover(w, r.Failovers[0])
	}
	t := failoverRows(r.Failovers)
	fmt.Fprintf(w, "\n### %d failovers\n\n%s %s.\n\n", len(r.Failovers), t.About, escapeMarkdown(r.FailoversLine()))
	heads := []string{"after fault"}
	for _, h := range t.Heads {
		heads = append(heads, ":"+h)
	}
	var rows [][]string
	for _, row := range append(t.Rows, t.Foot...) {
		rows = append(rows, append([]string{escapeMarkdown(row.Name)}, row.Cells...))
	}
	if err := markdownTable(w, heads, rows); err != nil {
		return err
	}
	for _, r := range t.Remarks {
		fmt.Fprintf(w, "\n- %s: %s", escapeMarkdown(r.Name), escapeMarkdown(r.Value))
	}
	_, err := fmt.Fprintln(w)
	return err
}

func oneFailover(w io.Writer, f analysis.Failover) error {
	head := "Failover after "
	if f.Fault < 0 {
		head = "Failover, "
	}
	fmt.Fprintf(w, "\n### %s\n\n", escapeMarkdown(head+f.Cause()+f.FromTo()))
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
	return markdownTable(w, []string{"stage", ":since the fault, or how long", "by"}, rows)
}

// stageName returns a milestone's name. If the name is a Sentinel's word, such as +odown, its meaning follows.
func stageName(m analysis.Milestone) string {
	if m.Plain() == "" {
		return string(m)
	}
	return string(m) + ": " + m.Plain()
}

func summaryCommand(w io.Writer, r Report) error {
	if r.Command == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nRun it again: %s\n", markdownCommand(r.Command))
	return err
}

// CompareMarkdown writes runs as one Markdown table, for comparison. If any row has a result of the explorer, the table
// has a column for these.
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
	if err := markdownTable(w, heads, cells); err != nil {
		return fmt.Errorf("reports: write comparison: %w", err)
	}
	return markdownSteps(w, rows)
}

// markdownSteps writes the steps of the first searches that did not pass.
func markdownSteps(w io.Writer, rows []Row) error {
	left := maxAnnotations
	for _, r := range rows {
		if r.passed() || r.Steps == "" || left == 0 {
			continue
		}
		left--
		about := cmp.Or(r.Regime, r.Name)
		if _, err := fmt.Fprintf(w, "\n### %s\n\n%s", escapeMarkdown(about), markdownBlock(r.Steps, "")); err != nil {
			return fmt.Errorf("reports: write comparison: %w", err)
		}
	}
	return nil
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
