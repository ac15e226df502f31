package reports

import (
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Row is one run or search among many: a line of an index, of a comparison or of a junit.xml.
type Row struct {
	Name     string          `json:"name"`
	Variant  string          `json:"variant,omitempty"`
	Regime   string          `json:"regime,omitempty"`   // input regime, nemesis, or both
	Expected string          `json:"expected,omitempty"` // what was expected; empty: nothing
	Met      bool            `json:"met"`                // whether Expected came true
	Verdict  harness.Verdict `json:"verdict"`
	Sentence string          `json:"summary"`           // the explanation of the verdict
	Unasked  string          `json:"unasked,omitempty"` // the checkers not asked, and why; empty: all were asked
	Found    string          `json:"found,omitempty"`   // the violations, such as "12 double-grant"; empty: none
	First    string          `json:"first,omitempty"`   // note of the first anomaly
	Steps    string          `json:"-"`                 // the steps of a search, as Exploration.Steps returns them
	// failovers that no fault caused; empty: there were none
	Unplanned string `json:"unplanned,omitempty"`
	// the explorer's result for the variant, such as "4 steps" or "all 5,040 hold"; empty: there is none
	Explorer string `json:"explorer,omitempty"`
	// the explorer's verdict; unknown if the explorer was not asked
	Searched     harness.Verdict `json:"searched,omitempty"`
	Contradicted bool            `json:"contradicted,omitempty"` // the explorer's result differs from what is documented
	Undecided    bool            `json:"undecided,omitempty"`    // the run is as documented, and the explorer cannot tell
	Mechanism    string          `json:"mechanism,omitempty"`    // how the violations come about; empty: unknown
	Why          string          `json:"why,omitempty"`          // the result in one sentence, written by Rank
	Ops          int64           `json:"ops"`                    // operations of any outcome; 0: the row is a search
	Rate         float64         `json:"rate"`                   // ok operations a second; 0: the row is a search
	P50          time.Duration   `json:"p50"`                    // median latency
	P99          time.Duration   `json:"p99"`                    // 99th percentile of the latency
	Started      time.Time       `json:"started"`
	Elapsed      time.Duration   `json:"elapsed"`
	Command      string          `json:"command,omitempty"` // the command that repeats the run
	Link         string          `json:"report,omitempty"`  // relative path of the run's report
}

// Comparison is the JSON document of several runs or searches.
type Comparison struct {
	Head
	Answer string `json:"answer,omitempty"` // the better variant, or why none is better; empty: they were not compared
	Reason string `json:"reason,omitempty"` // the reason for the answer, in a few sentences
	Rows   []Row  `json:"rows"`             // in the order in which they ran
}

// ComparisonOf returns the document of rows.
func ComparisonOf(rows []Row) Comparison {
	return Comparison{Head: HeadOf(KindComparison), Rows: list(rows)}
}

// AddExplorer adds the explorer's result for the variant: its text (says), whether it is as documented (met), and the
// explorer's verdict (v). A result with an unknown verdict does not contradict the documentation.
func (r *Row) AddExplorer(says string, met bool, v harness.Verdict) {
	r.Explorer, r.Searched = says, v
	r.Contradicted, r.Undecided = !met && v != harness.Unknown, r.Met && !met && v == harness.Unknown
	r.Met = r.Met && met
}

// RowOf summarizes a report in one line. The parameter link is the relative path of the report's page, and may be
// empty.
func RowOf(r Report, link string) Row {
	row := Row{
		Name: r.Name, Variant: r.Labels["variant"], Regime: regime(r.Labels), Expected: r.Expected, Met: r.Met,
		Verdict: r.Judged.Verdict, Sentence: r.Sentence(), Unasked: r.uncheckedNote(), Unplanned: r.Unplanned(),
		Found: r.ViolationCounts(), Ops: r.Stats.Totals.All(),
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

// orDashForSearch returns s if the row is of a run, and a dash if it is of a search, which counts no operations.
func (r Row) orDashForSearch(s string) string {
	if r.Explorer != "" && r.Ops == 0 {
		return dash
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
