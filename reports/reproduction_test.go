package reports

import (
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// split returns a reproduction with two arms, the second with a trial whose verdict is unknown.
func split() Reproduction {
	r := Reproduction{
		Name: "split-brain-guards", Title: "What keeps a split brain from losing writes",
		Source:    "this project's design",
		Published: "without a guard 20 % of acknowledged writes are lost", Expected: "guards lose less",
		Setup:    "5 clients",
		Measures: []Measure{{Name: "acknowledged"}, {Name: "lost", Unit: "%"}}, Shape: Matches,
		Finding: "20 % without, none with.",
		Started: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		Arms: []Arm{
			{Name: "none", Published: []string{"1976", "20"}, Command: "doublegrant run writes/rounds", Trials: []Trial{
				{Seed: 1, Verdict: harness.Invalid, Values: []float64{1976, 20.4}, Link: "a/report.html"},
				{Seed: 2, Verdict: harness.Invalid, Values: []float64{1980, 19.5}},
				{Seed: 3, Verdict: harness.Invalid, Values: []float64{1960, 25}},
			}},
			{Name: "<b>WAIT 2</b>", Trials: []Trial{
				{Seed: 4, Verdict: harness.Valid, Values: []float64{1784, 0}},
				{Seed: 5, Verdict: harness.Unknown, Reason: "no load during the fault", Values: []float64{3, 77}},
			}},
		},
	}
	r.Summarize()
	return r
}

func TestRangeOfTrials(t *testing.T) {
	require.Equal(t, Range{Min: 1, Median: 2, Max: 9, N: 3}, RangeOf([]float64{9, 1, 2}))
	require.Equal(t, Range{Min: 1, Median: 1.5, Max: 2, N: 2}, RangeOf([]float64{2, 1}))
	require.Equal(t, Range{}, RangeOf(nil))
	require.Equal(t, "–", Range{}.String())
	require.Equal(t, "1,976", RangeOf([]float64{1976}).String())
	require.Equal(t, "2 (1 to 9)", RangeOf([]float64{9, 1, 2}).String())
}

func TestUnknownTrialsDoNotCount(t *testing.T) {
	r := split()
	require.Equal(t, Range{Min: 1784, Median: 1784, Max: 1784, N: 1}, r.Arms[1].Ranges[0])
	require.Equal(t, []string{"none", "3", "1,976 (1,960 to 1,980) [1976]", "20.4 (19.5 to 25) [20]"}, r.rows()[0])
	require.Equal(t, []string{"<b>WAIT 2</b>, trial 2: no load during the fault"}, r.doubts())
}

func TestReproductionFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "reproduction")
	require.NoError(t, WriteReproduction(dir, split()))
	require.Equal(t, []string{ReportFile, ReproductionFile, SummaryFile}, filesIn(t, dir))
	page := textOf(t, ReproductionHTML, split())
	require.Contains(t, page, `<span class="word">matches</span>`)
	require.NotContains(t, page, "<b>WAIT")
	summary := textOf(t, ReproductionSummary, split())
	require.Contains(t, summary, "| none | 3 | 1,976 (1,960 to 1,980)")
	require.NotContains(t, summary, "<b>")
	wide := func(w io.Writer, r Reproduction) error { return ReproductionText(w, r, Layout{Width: 150}) }
	text := textOf(t, wide, split())
	require.Contains(t, text, "MATCHES  What keeps a split brain")
	require.Contains(t, text, "unknown  <b>WAIT 2</b>, trial 2")
}
