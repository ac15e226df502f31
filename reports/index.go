package reports

import (
	"io"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Index writes one self-contained page that lists many runs and links to their reports.
func Index(w io.Writer, rows []Row) error {
	return render(w, "index.html.tmpl", newIndex(rows))
}

// index holds the data for the template of an index.
type index struct {
	Rows     []indexRow
	Tone     string // verdict that gives the headline its colour: valid, invalid or unknown
	Word     string
	Sentence string
	Runs     string // number of runs in words
	Elapsed  time.Duration
	Expects  bool // some run has an expectation
	Explored bool // some row has an answer of the explorer
}

type indexRow struct {
	Row
	Title  string // the run's name, or only the variant if the name says no more than Variant and About
	About  string // such as "load, partition-primary" or "every interleaving, 1 failover"
	Passed bool
	Result string // "valid", "invalid", "unknown"
	Count  string // number of operations
	Pace   string // number of ok operations a second
}

func newIndex(rows []Row) index {
	x := index{Tone: harness.Valid.String(), Word: "passed", Explored: anyExplored(rows),
		Runs: units.Plural(int64(len(rows)), "run", "runs")}
	passed := 0
	for _, r := range rows {
		one := indexRow{
			Row: r, Title: r.title(), About: r.about(), Passed: r.passed(), Result: r.Verdict.String(),
			Count: r.orDashForSearch(units.Count(r.Ops)), Pace: r.orDashForSearch(units.Whole(r.Rate)),
		}
		if one.Passed {
			passed++
		}
		x.Rows = append(x.Rows, one)
		x.Elapsed += r.Elapsed
		x.Expects = x.Expects || r.Expected != ""
	}
	switch {
	case len(rows) == 0:
		x.Tone, x.Word = harness.Unknown.String(), "empty"
	case passed < len(rows):
		x.Tone, x.Word = harness.Invalid.String(), "failed"
	}
	x.Sentence = units.Count(int64(passed)) + " of " + x.Runs + " ended as they should."
	return x
}

// title returns what a page calls a run: only the variant, if the run's name is made of the variant and the regime.
func (r Row) title() string {
	parts := []string{r.Variant}
	if r.Regime != "" {
		parts = append(parts, strings.Split(r.Regime, ", ")...)
	}
	if r.Variant != "" && r.Name == strings.ReplaceAll(strings.Join(parts, "-"), "/", "-") {
		return r.Variant
	}
	return r.Name
}

// about returns what distinguishes runs of one variant: regime and faults, or the bounds of a search.
func (r Row) about() string {
	if r.Ops == 0 {
		return r.Regime
	}
	return strings.TrimSuffix("load, "+r.Regime, ", ")
}
