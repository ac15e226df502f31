package reports

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Reproduction is a repeated published experiment: what was published, what was found here, and whether the two have
// the same shape.
type Reproduction struct {
	Name      string        `json:"name"`      // name of the experiment, such as "jepsen-redis-2013"
	Title     string        `json:"title"`     // the subject, in one line
	Source    string        `json:"source"`    // the publisher, the title and the year
	Published string        `json:"published"` // the published figures, in words
	Setup     string        `json:"setup"`     // how the experiment is run here
	Differs   string        `json:"differs"`   // the reasons for figures that differ from the published ones
	Expected  string        `json:"expected"`  // the shape that the trials should show, in words
	Measures  []Measure     `json:"measures"`
	Arms      []Arm         `json:"arms"`
	Shape     Shape         `json:"shape"`
	Finding   string        `json:"finding"` // the reason for the shape, or why it cannot be told
	Redis     string        `json:"redis,omitempty"`
	Started   time.Time     `json:"started"`
	Elapsed   time.Duration `json:"elapsed"`
}

// Shape says whether the trials have the shape of the published result.
type Shape string

// The shapes. The zero value means that nothing was compared.
const (
	Matches Shape = "matches"
	Differs Shape = "differs"
	Untold  Shape = "cannot be told" // a trial's verdict is unknown
)

// Measure is a figure that every trial has. The table has a column for it.
type Measure struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
}

// Arm is one condition of the experiment. The table has a row for it.
type Arm struct {
	Name      string   `json:"name"`
	Published []string `json:"published,omitempty"` // published figures in words, for each measure; may be incomplete
	Command   string   `json:"command"`             // the command that runs the first trial again
	Trials    []Trial  `json:"trials"`
	Ranges    []Range  `json:"ranges"` // one for each measure, in their order; Summarize fills them in
}

// Trial is one run of an arm.
type Trial struct {
	Seed    uint64          `json:"seed"`
	Verdict harness.Verdict `json:"verdict"`
	Reason  string          `json:"reason,omitempty"` // reason for an unknown verdict
	Values  []float64       `json:"values"`           // one for each measure, in their order
	Link    string          `json:"link,omitempty"`   // relative path of the trial's report
}

// Range is the least, the median and the largest of the values of an arm's trials. With an even number of trials the
// median is the mean of the two values in the middle.
type Range struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
	N      int     `json:"n"` // number of values
}

// RangeOf returns the range of values. Without values it is the zero Range.
func RangeOf(values []float64) Range {
	if len(values) == 0 {
		return Range{}
	}
	s := slices.Sorted(slices.Values(values))
	mid := len(s) / 2
	r := Range{Min: s[0], Median: s[mid], Max: s[len(s)-1], N: len(s)}
	if len(s)%2 == 0 {
		r.Median = (s[mid-1] + s[mid]) / 2
	}
	return r
}

// Summarize sets the ranges of every arm. Trials with an unknown verdict do not count.
func (r *Reproduction) Summarize() {
	for i := range r.Arms {
		a := &r.Arms[i]
		a.Ranges = nil
		for m := range r.Measures {
			var values []float64
			for _, t := range a.Trials {
				if t.Verdict != harness.Unknown {
					values = append(values, t.Values[m])
				}
			}
			a.Ranges = append(a.Ranges, RangeOf(values))
		}
	}
}

// String returns the median, the least and the largest value as "12 (9 to 15)". If all values are the same, it returns
// one number.
func (r Range) String() string {
	switch {
	case r.N == 0:
		return dash
	case r.Min == r.Max:
		return units.Figure(r.Median)
	}
	return units.Figure(r.Median) + " (" + units.Figure(r.Min) + " to " + units.Figure(r.Max) + ")"
}

// published returns the published figure of measure m, or an empty text if there is none.
func (a Arm) published(m int) string {
	if m >= len(a.Published) {
		return ""
	}
	return a.Published[m]
}

// DecidedTrials returns the number of trials with a verdict other than unknown.
func (a Arm) DecidedTrials() int {
	n := 0
	for _, t := range a.Trials {
		if t.Verdict != harness.Unknown {
			n++
		}
	}
	return n
}

// head returns the title of a measure's column.
func (m Measure) head() string {
	if m.Unit == "" {
		return m.Name
	}
	return m.Name + ", " + m.Unit
}

// rows returns the table: name, trials, and a cell for each measure, with the published figure beside ours.
func (r Reproduction) rows() [][]string {
	var all [][]string
	for _, a := range r.Arms {
		row := []string{a.Name, units.Count(int64(a.DecidedTrials()))}
		for m := range r.Measures {
			cell := dash
			if m < len(a.Ranges) {
				cell = a.Ranges[m].String()
			}
			if p := a.published(m); p != "" {
				cell += " [" + p + "]"
			}
			row = append(row, cell)
		}
		all = append(all, row)
	}
	return all
}

func (r Reproduction) heads() []string {
	heads := []string{"condition", ":trials"}
	for _, m := range r.Measures {
		heads = append(heads, ":"+m.head())
	}
	return heads
}

// doubts lists the trials with an unknown verdict, with their reasons.
func (r Reproduction) doubts() []string {
	var all []string
	for _, a := range r.Arms {
		for i, t := range a.Trials {
			if t.Verdict == harness.Unknown {
				all = append(all, a.Name+", trial "+units.Count(int64(i+1))+": "+
					cmp.Or(t.Reason, "nothing can be said"))
			}
		}
	}
	return all
}

// WriteReproduction writes report.html, reproduction.json and summary.md into dir, as Write does for a run.
func WriteReproduction(dir string, r Reproduction) error {
	return writeAll(dir, []Format[Reproduction]{
		{ReproductionFile, ReproductionJSON}, {SummaryFile, ReproductionSummary}, {ReportFile, ReproductionHTML},
	}, r)
}

// ReproductionDocument is the content of reproduction.json.
type ReproductionDocument struct {
	Head
	Reproduction
}

// ReproductionJSON writes reproduction.json.
func ReproductionJSON(w io.Writer, r Reproduction) error {
	return WriteJSON(w, ReproductionDocument{HeadOf(KindReproduction), r})
}

// ReproductionSummary writes a reproduction as Markdown.
func ReproductionSummary(w io.Writer, r Reproduction) error {
	var b strings.Builder
	b.WriteString("## " + escapeMarkdown(r.Title) + "\n\n")
	for _, f := range r.facts() {
		b.WriteString("- " + f.Name + ": " + escapeMarkdown(f.Value) + "\n")
	}
	b.WriteString("\n")
	var rows [][]string
	for _, row := range r.rows() {
		for i := range row {
			row[i] = escapeMarkdown(row[i])
		}
		rows = append(rows, row)
	}
	markdownTable(&b, r.heads(), rows)
	b.WriteString("\nMedian (least to largest) of the trials; in brackets what was published.\n")
	return writeText(w, "summary", b.String())
}

// facts returns the lines above the table.
func (r Reproduction) facts() []fact {
	all := []fact{
		{"source", r.Source}, {"published", r.Published}, {"run here", r.Setup},
		{"looked for", r.Expected}, {"shape", strings.TrimSuffix(string(r.Shape)+": "+r.Finding, ": ")},
		{"why figures differ", r.Differs},
	}
	if r.Redis != "" {
		all = append(all, fact{"Redis", r.Redis})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Value == "" })
}
