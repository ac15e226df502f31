package reports

import (
	"html"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// A page and a summary say of each class that was found what it means in production, and what mends it.
func TestPagesSayWhatAClassMeansAndWhatMendsIt(t *testing.T) {
	for _, d := range harness.Classes() {
		j := harness.Judged{
			Verdict: harness.Invalid, Totals: map[harness.Class]int{d.Class: 1},
			Anomalies: []harness.Anomaly{{Class: d.Class, Note: "as it was seen"}},
		}
		r, err := New(overlapping(), j)
		require.NoError(t, err)
		page := textOf(t, HTML, r)
		summary := textOf(t, Summary, r)
		said := html.UnescapeString(page)
		for _, text := range []string{d.Meaning, d.Harm, d.Remedy} {
			require.Contains(t, said, text)
		}
		for _, text := range []string{d.Harm, d.Remedy} {
			require.Contains(t, html.UnescapeString(strings.ReplaceAll(summary, `\`, "")), text)
		}
	}
}

// A class of a later version has no text, and takes no room.
func TestAClassThatIsNotKnownIsNotExplained(t *testing.T) {
	j := harness.Judged{Verdict: harness.Invalid, Totals: map[harness.Class]int{"odd": 1}, Anomalies: []harness.Anomaly{{Class: "odd"}}}
	r, err := New(overlapping(), j)
	require.NoError(t, err)
	page := textOf(t, HTML, r)
	require.NotContains(t, page, "in production")
}
