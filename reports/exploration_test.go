package reports

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/stretchr/testify/require"
)

// textOf returns what write writes of v.
func textOf[T any](t *testing.T, write func(io.Writer, T) error, v T) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(&b, v))
	return b.String()
}

// junitRead returns the test suite that JUnit writes of rows.
func junitRead(t *testing.T, rows ...Row) junitSuite {
	t.Helper()
	return junitParsed(t, textOf(t, func(w io.Writer, rows []Row) error { return JUnit(w, "suite", rows) }, rows))
}

func junitParsed(t *testing.T, text string) junitSuite {
	t.Helper()
	var got junitSuites
	require.NoError(t, xml.Unmarshal([]byte(text), &got))
	require.Len(t, got.Suites, 1)
	return got.Suites[0]
}

func TestExplorationsInOneSentence(t *testing.T) {
	all := searches()
	for name, want := range map[string][2]string{
		"race":  {"2 counterexamples, the smallest of 5 steps: immortal-mark and duplicate-delivery.", "5 steps"},
		"blind": {"A counterexample of 7 steps: stolen-release.", "7 steps"},
		"exhausted": {"No interleaving of 3 clients breaks it: all 5,040 schedules, at most 1 crash and 1 expiry.",
			"all 5,040 hold"},
		"budget": {"Nothing can be said after 120,000 schedules in 10.0 s: budget reached.",
			"undecided after 120,000"},
		"empty":   {"Nothing can be said after 0 schedules in 0 s: the search ended early.", "undecided after 0"},
		"nothing": {"Nothing can be said after 0 schedules in 0 s: there was nothing to run.", "undecided after 0"},
	} {
		require.Equal(t, want[0], all[name].Sentence())
		require.Equal(t, want[1], all[name].Brief())
	}
	require.Equal(t, harness.Unknown, all["nothing"].Verdict())
	pruned := all["exhausted"]
	pruned.Result.Pruned, pruned.Result.Budget = 9, interleave.Budget{Clients: 3}
	require.Equal(t, "No interleaving of 3 clients breaks it: all 5,040 schedules that differ, without crash, expiry "+
		"or failover.", pruned.Sentence())
}

func TestSearchJSONRoundTrip(t *testing.T) {
	for name, e := range searches() {
		s := textOf(t, ExplorationJSON, e)
		read, err := ReadExplorationJSON(strings.NewReader(s))
		if name == "evil" { // its choices have no names
			continue
		}
		require.NoError(t, err)
		require.Equal(t, ExplorationDocumentOf(e), ExplorationDocumentOf(read), name)
	}
	for _, other := range []string{textOf(t, JSON, Report{}), `{"schema": 2, "kind": "exploration"}`} {
		_, err := ReadExplorationJSON(strings.NewReader(other))
		require.ErrorIs(t, err, ErrSchema, "it is of a run, or of another version")
	}
}

func TestSummaryOfASearch(t *testing.T) {
	s := textOf(t, ExplorationSummary, searches()["race"])
	for _, want := range []string{
		"## invalid: dedup/get-set", "```text\nimmortal-mark in 5 steps:\n  1  client 1  GET msg    (nil)\n",
		"Expected duplicate-delivery: **met**",
		"Replay it: `doublegrant explore --replay anomalies/immortal-mark.json`", "| schedules | 702 |",
	} {
		require.Contains(t, s, want)
	}
	s = textOf(t, ExplorationSummary, searches()["evil"])
	require.Equal(t, 2, strings.Count(s, "```"), "nothing ends the code block early")
	require.NotContains(t, withoutCode(s), "<script")
	require.NotContains(t, withoutCode(s), "@team")
}

func TestExplorerIsAColumnWhereItWasAsked(t *testing.T) {
	run, search := Row{Name: "run", Variant: "lock/x", Ops: 7, Verdict: harness.Valid},
		searches()["exhausted"].Row("x/report.html")
	mixed := run
	mixed.Explorer = "4 steps"
	for _, rows := range [][]Row{{run, search}, {mixed, run}} {
		md := textOf(t, ComparisonMarkdown, Rank(rows))
		require.Contains(t, md, "| verdict | explorer | why |")
		html := pageOf(t, Index, rows)
		require.Contains(t, html, "<th>explorer</th>")
		require.Contains(t, md, rows[0].Explorer+rows[1].Explorer)
		require.Contains(t, html, rows[0].Explorer+rows[1].Explorer)
		require.Contains(t, html, `<td class="n" data-label="operations">7</td>`)
	}
	require.NotContains(t, textOf(t, ComparisonMarkdown, Rank([]Row{run})), "explorer")
	require.NotContains(t, textOf(t, Index, []Row{run}), "explorer")
}

// A search whose steps wait in real time says so, and what to do.
func TestASearchOfASlowProgramSaysWhy(t *testing.T) {
	e := Exploration{Result: interleave.Result{Schedules: 7, Steps: 82, Elapsed: 20 * time.Second}}
	require.Contains(t, strings.Join(e.warnings(), " "), "A step took 244 ms on average: the algorithm waits in real time")
	e.Result.Exhausted = true
	require.Empty(t, e.warnings())
	e.Result.Exhausted, e.Result.Steps = false, 82_000
	require.Empty(t, e.warnings())
}
