package reports

import (
	"html"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
)

// For each class that was found, a page and a summary explain what it means in production, and the remedy.
func TestPagesSayWhatAClassMeansAndWhatMendsIt(t *testing.T) {
	r := report(t, analysistest.OneKill(), harness.Judged{})
	for _, d := range harness.Classes() {
		r.Judged = harness.Judged{
			Verdict: harness.Invalid, Totals: map[harness.Class]int{d.Class: 1},
			Anomalies: []harness.Anomaly{{Class: d.Class, Note: "as it was seen"}},
		}
		said, summary := html.UnescapeString(textOf(t, HTML, r)), textOf(t, Summary, r)
		for _, text := range []string{d.Meaning, d.Harm, d.Remedy} {
			require.Contains(t, said, text)
		}
		for _, text := range []string{d.Harm, d.Remedy} {
			require.Contains(t, html.UnescapeString(strings.ReplaceAll(summary, `\`, "")), text)
		}
	}
}

// A class of a later version has no text, and gets no space.
func TestAClassThatIsNotKnownIsNotExplained(t *testing.T) {
	j := harness.Judged{Verdict: harness.Invalid, Totals: map[harness.Class]int{"odd": 1},
		Anomalies: []harness.Anomaly{{Class: "odd"}}}
	require.NotContains(t, textOf(t, HTML, report(t, analysistest.OneKill(), j)), "in production")
}
