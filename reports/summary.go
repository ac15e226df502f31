package reports

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports/drawing"
)

// Summary writes summary.md: what one would paste into a pull request.
func Summary(w io.Writer, r Report) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## %s: %s\n\n%s\n\n", r.Judged.Verdict, plain(r.Name), plain(r.Sentence()))
	if r.Expected != "" {
		fmt.Fprintf(&b, "Expected %s: **%s**.\n\n", plain(r.Expected), met(r.Met))
	}
	for _, warning := range r.warnings() {
		fmt.Fprintf(&b, "> %s\n\n", plain(warning))
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

func met(yes bool) string {
	if yes {
		return "met"
	}
	return "not met"
}

func summaryFacts(w io.Writer, r Report) error {
	var rows [][]string
	for _, f := range append(setup(r), totals(r.Stats)...) {
		rows = append(rows, []string{plain(f.Name), plain(f.Value)})
	}
	return table(w, []string{"run", ""}, rows)
}

func summaryJudged(w io.Writer, r Report) error {
	var rows [][]string
	for _, g := range r.Judged.Judgements {
		rows = append(rows, []string{code(g.Checker), g.Said(), plain(g.Reason)})
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return table(w, []string{"checker", "verdict", "reason"}, rows)
}

func summaryAnomaly(w io.Writer, r Report) error {
	if len(r.Judged.Anomalies) == 0 {
		return nil
	}
	a := r.Judged.Anomalies[0]
	fmt.Fprintf(w, "\n### First anomaly: %s %s\n\n%s\n\n", plain(string(a.Class)), code(units.Clip(a.Key, 80)), plain(a.Note))
	aboutClass(w, a.Class)
	if len(a.Ops) == 0 {
		return nil
	}
	var rows [][]string
	for _, op := range opViews(a, r.History.Meta) {
		rows = append(rows, opCells(op))
	}
	return table(w, []string{":client", "kind", "argument", "result", ":call", ":took", "outcome"}, rows)
}

// aboutClass says what a class means in production and what mends it.
func aboutClass(w io.Writer, c harness.Class) {
	if d := c.Doc(); d.Harm != "" {
		fmt.Fprintf(w, "%s in production: %s\n\nWhat to do: %s\n\n", plain(string(c)), plain(d.Harm), plain(d.Remedy))
	}
}

func opCells(op opView) []string {
	return []string{
		op.Who, plain(string(op.Kind)), code(units.Clip(op.Arg, 60)), code(units.Clip(op.Result, 60)), units.At(op.Call), units.Duration(op.Took),
		plain(units.Clip(drawing.OutcomeText(op.Op), 80)),
	}
}

// summaryFailovers writes the stages of one failover downwards, and of several across.
func summaryFailovers(w io.Writer, r Report) error {
	switch len(r.Failovers) {
	case 0:
		return nil
	case 1:
		return oneFailover(w, r.Failovers[0])
	}
	fmt.Fprintf(w, "\n### %d failovers, times since the fault\n\n", len(r.Failovers))
	t := tabulate(r.Failovers)
	heads := []string{"after fault"}
	for _, h := range t.Heads {
		heads = append(heads, ":"+h)
	}
	var rows [][]string
	for _, row := range append(t.Rows, t.Foot...) {
		rows = append(rows, append([]string{plain(row.Name)}, row.Cells...))
	}
	return table(w, heads, rows)
}

func oneFailover(w io.Writer, f analysis.Failover) error {
	fmt.Fprintf(w, "\n### Failover after %s\n\n", plain(f.Name+f.Moved()))
	var rows [][]string
	for _, s := range f.Stages {
		if s.Seen {
			rows = append(rows, []string{string(s.Name), units.Duration(s.After), code(s.By)})
		} else {
			rows = append(rows, []string{string(s.Name), "not seen", plain(s.Note)})
		}
	}
	for _, c := range f.Costs() {
		rows = append(rows, []string{c.Name + " for", units.Duration(c.Length()), plain(c.Note)})
	}
	return table(w, []string{"stage", ":since the fault", "by"}, rows)
}

func summaryCommand(w io.Writer, r Report) error {
	if r.Command == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nRun it again: %s\n", command(r.Command))
	return err
}

// CompareMarkdown writes runs as one Markdown table, to be read side by side. When the explorer was asked of any of them,
// the table says what it answered.
func CompareMarkdown(w io.Writer, rows []Row) error {
	heads := []string{"variant", "regime, fault", "verdict", "found", "first anomaly", ":ops/s", ":p50", ":p99"}
	asked := explored(rows)
	if asked {
		heads = slices.Insert(heads, explorerColumn, "explorer")
	}
	var cells [][]string
	for _, r := range rows {
		row := []string{
			code(r.Variant), plain(r.Regime), mark(r.Verdict), plain(dash(r.Found)), plain(units.Clip(dash(r.First), 160)),
			r.ran(units.Whole(r.Rate)), units.Took(r.P50), units.Took(r.P99),
		}
		if asked {
			row = slices.Insert(row, explorerColumn, plain(dash(r.Explorer)))
		}
		cells = append(cells, row)
	}
	if err := table(w, heads, cells); err != nil {
		return fmt.Errorf("reports: write comparison: %w", err)
	}
	return nil
}

// explorerColumn is the index of the column with the explorer's answer, after the verdict.
const explorerColumn = 3

// mark makes what is not valid stand out.
func mark(v harness.Verdict) string {
	if v == harness.Valid {
		return v.String()
	}
	return "**" + v.String() + "**"
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
