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
	Sentence     string  // the explanation of the verdict
	Unasked      string  // which checkers were not asked, and why; empty: all were asked
	Found        string  // "12 double-grant"; empty: nothing
	First        string  // note of the first anomaly
	Explorer     string  // the explorer's result for the variant: "4 steps", "all 5,040 hold"; empty: there is none
	Contradicted bool    // the explorer's result differs from what is documented
	Undecided    bool    // the run is as documented, and the explorer cannot tell
	Ops          int64   // operations of any outcome
	Rate         float64 // ok operations a second
	P50, P99     time.Duration
	Started      time.Time
	Elapsed      time.Duration
	Command      string // repeats the run; may be empty
	Link         string // relative path of the run's report; may be empty
}

// AddExplorer adds the explorer's result for the variant. met says whether it is as documented. A search with an
// unknown verdict contradicts nothing.
func (r *Row) AddExplorer(says string, met bool, v harness.Verdict) {
	r.Explorer, r.Contradicted, r.Undecided = says, !met && v != harness.Unknown, r.Met && !met && v == harness.Unknown
	r.Met = r.Met && met
}

// RowOf summarizes a report in one line. link is the relative path of its page and may be empty.
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

// anyExplored reports whether a row has a result of the explorer.
func anyExplored(rows []Row) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.Explorer != "" })
}

// orDashForSearch returns s, or a dash if the row is that of a search, which has no operations to count.
func (r Row) orDashForSearch(s string) string {
	if r.Explorer != "" && r.Ops == 0 {
		return "–"
	}
	return s
}

// passed reports whether CI should pass: the expectation was met or, without one, the verdict is valid.
func (r Row) passed() bool {
	if r.Expected != "" {
		return r.Met
	}
	return r.Verdict == harness.Valid
}
