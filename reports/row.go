package reports

import (
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Row is one run among many: a line of an index, of a comparison or of a junit.xml.
type Row struct {
	Name         string
	Variant      string
	Regime       string // input regime, nemesis, or both
	Expected     string // what was expected; empty: nothing
	Met          bool   // whether Expected came true
	Verdict      harness.Verdict
	Sentence     string  // what the verdict rests on
	Unasked      string  // which checkers were asked nothing, and why; empty: all were asked
	Found        string  // "12 double-grant"; empty: nothing
	First        string  // note of the first anomaly
	Explorer     string  // what the explorer says of the variant: "4 steps", "all 5,040 hold"; empty: it was not asked
	Contradicted bool    // the explorer found something else than what is documented
	Undecided    bool    // the run is as documented, and the explorer cannot tell
	Ops          int64   // operations of any outcome
	Rate         float64 // ok operations a second
	P50, P99     time.Duration
	Started      time.Time
	Elapsed      time.Duration
	Command      string // repeats the run; may be empty
	Link         string // relative path of the run's report; may be empty
}

// AddExplorer adds what the explorer says of the variant, and whether that is as documented. A search that cannot tell
// contradicts nothing.
func (r *Row) AddExplorer(says string, met bool, v harness.Verdict) {
	r.Explorer, r.Contradicted, r.Undecided = says, !met && v != harness.Unknown, r.Met && !met && v == harness.Unknown
	r.Met = r.Met && met
}

// RowOf sums up a report in one line. Link is the relative path of its page and may be empty.
func RowOf(r Report, link string) Row {
	row := Row{
		Name: r.Name, Variant: r.Labels["variant"], Regime: regime(r.Labels), Expected: r.Expected, Met: r.Met,
		Verdict: r.Judged.Verdict, Sentence: r.Sentence(), Unasked: r.uncheckedNote(), Found: r.Found(),
		Ops:  r.Stats.Totals.All(),
		Rate: r.Stats.Rate, P50: r.Stats.Latency.P50, P99: r.Stats.Latency.P99,
		Started: r.History.Meta.Started, Elapsed: r.Elapsed, Command: r.Command, Link: link,
	}
	if len(r.Judged.Anomalies) > 0 {
		row.First = r.Judged.Anomalies[0].Note
	}
	return row
}

func regime(labels map[string]string) string {
	var parts []string
	for _, name := range []string{"regime", "nemesis"} {
		if labels[name] != "" {
			parts = append(parts, labels[name])
		}
	}
	return strings.Join(parts, ", ")
}

// anyExplored reports whether the explorer was asked about any of rows.
func anyExplored(rows []Row) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.Explorer != "" })
}

// orDashForSearch returns s, or a dash if the row is about a search, which has no operations to count.
func (r Row) orDashForSearch(s string) string {
	if r.Explorer != "" && r.Ops == 0 {
		return "–"
	}
	return s
}

// passed reports whether CI should be green: the expectation came true or, without one, the verdict is valid.
func (r Row) passed() bool {
	if r.Expected != "" {
		return r.Met
	}
	return r.Verdict == harness.Valid
}
