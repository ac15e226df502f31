package reports

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/stretchr/testify/require"
)

func written(t *testing.T, write func(b *bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(&b))
	return b.String()
}

// textOf returns what write makes of v.
func textOf[T any](t *testing.T, write func(io.Writer, T) error, v T) string {
	t.Helper()
	return written(t, func(b *bytes.Buffer) error { return write(b, v) })
}

func searchPage(t *testing.T, e Exploration) string {
	html := textOf(t, ExplorationHTML, e)
	wellFormed(t, html)
	return html
}

func terminal(t *testing.T, e Exploration) string {
	return textOf(t, ExplorationText, e)
}

func TestExplorationsInOneSentence(t *testing.T) {
	all := searches()
	for name, want := range map[string][2]string{
		"race":      {"2 counterexamples, the smallest of 5 steps: immortal-mark and duplicate-delivery.", "5 steps"},
		"blind":     {"A counterexample of 7 steps: stolen-release.", "7 steps"},
		"exhausted": {"No interleaving of 3 clients breaks it: all 5,040 schedules, at most 1 crash and 1 expiry.", "all 5,040 hold"},
		"budget":    {"Nothing can be said: budget reached after 120,000 schedules in 10.0 s.", "undecided after 120,000"},
		"empty":     {"Nothing can be said: the search ended early after 0 schedules in 0 s.", "undecided after 0"},
	} {
		require.Equal(t, want[0], all[name].Sentence())
		require.Equal(t, want[1], all[name].Brief())
	}
	pruned := all["exhausted"]
	pruned.Result.Pruned, pruned.Result.Budget = 9, interleave.Budget{Clients: 3}
	require.Equal(t, "No interleaving of 3 clients breaks it: all 5,040 schedules that differ, without crash, expiry or failover.", pruned.Sentence())
}

func TestASearchThatRanNothingIsNotValid(t *testing.T) {
	e := Exploration{Result: interleave.Result{Exhausted: true}}
	require.Equal(t, harness.Unknown, e.Verdict())
	require.Equal(t, "Nothing can be said: there was nothing to run after 0 schedules in 0 s.", e.Sentence())
}

func TestPageOfEverySortOfSearch(t *testing.T) {
	for name, e := range searches() {
		t.Run(name, func(t *testing.T) {
			html := searchPage(t, e)
			require.Equal(t, len(e.Result.Found), strings.Count(html, `<div class="sequence">`))
			for _, bad := range []string{"src=", "url(", "http://", "https://", "<script", `href="javascript`, "\u202e"} {
				require.NotContains(t, html, bad)
			}
		})
	}
}

// copied returns a page as its commands are copied: without the marks around their words.
func copied(page string) string {
	return strings.NewReplacer("<span>", "", "</span>", "").Replace(page)
}

func TestPageTellsTheFacts(t *testing.T) {
	html := searchPage(t, searches()["race"])
	for _, fact := range []string{
		"dedup/get-set", "expected duplicate-delivery: met", "at most 1 crash and 1 expiry", "GET; if absent SET, EXPIRE, deliver",
		"Atomic operations by Lua (article), plan one", "2026-11-21 04:00 UTC", "15,455", "800 µs", "everything",
		"duplicate-delivery in 7 steps", "two workers were told that they are the first", "clients 1 and 2 were both told",
		`href="anomalies/immortal-mark.json"`, "10.005 s", "crashes",
	} {
		require.Contains(t, html, fact)
	}
	require.Contains(t, copied(html), "<pre>doublegrant explore dedup/get-set --clients 3</pre>")
	require.Contains(t, copied(html), "--replay anomalies/duplicate-delivery.json</pre>")
	require.NotContains(t, html, "clients 0 and 1")
	require.NotContains(t, html, "Not every schedule was run")
	some := searches()["race"]
	some.Result.Exhausted, some.Result.Stopped = false, "it was to stop at the first counterexample"
	require.Contains(t, searchPage(t, some), "Not every schedule was run: it was to stop at the first counterexample.")
}

func TestALongCounterexampleIsDrawnInPart(t *testing.T) {
	html := searchPage(t, searches()["evil"])
	require.Contains(t, html, "47 more lines are in the table only")
}

func TestSearchJSONRoundTrip(t *testing.T) {
	for name, e := range searches() {
		s := textOf(t, ExplorationJSON, e)
		d, err := ReadExplorationJSON(strings.NewReader(s))
		if name == "evil" { // its choices have no names
			continue
		}
		require.NoError(t, err)
		require.Equal(t, ExplorationDocumentOf(e), d, name)
		require.Equal(t, e.Row("x").Sentence, d.Exploration().Row("x").Sentence)
		_, err = ReadJSON(strings.NewReader(s))
		require.ErrorIs(t, err, ErrSchema, "it is not that of a run")
	}
	run := textOf(t, JSON, Report{})
	_, err := ReadExplorationJSON(strings.NewReader(run))
	require.ErrorIs(t, err, ErrSchema)
}

func TestSearchJSONHasListsAndNames(t *testing.T) {
	s := textOf(t, ExplorationJSON, Exploration{})
	for _, want := range []string{`"schema": 1`, `"kind": "exploration"`, `"verdict": "unknown"`, `"found": []`, `"elapsed": 0`} {
		require.Contains(t, s, want)
	}
	require.NotContains(t, s, `"met"`)
	require.NotContains(t, s, `"started"`)
	bare := Exploration{Result: interleave.Result{Found: []interleave.Counterexample{{}}}}
	s = textOf(t, ExplorationJSON, bare)
	require.NotContains(t, s, "null")
	require.Nil(t, bare.Result.Found[0].Steps, "the caller's own stays as it is")
}

func TestWriteExploration(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "search")
	for name, e := range searches() {
		require.NoError(t, WriteExploration(dir, e), name)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, len(ExplorationFormats()))
	for i, f := range Formats() {
		require.Equal(t, f.File, ExplorationFormats()[i].File, "a folder looks the same whatever is in it")
	}
}

func TestJUnitOfSearches(t *testing.T) {
	for name, want := range map[string]string{"race": "", "blind": "failure", "stuck": "failure", "exhausted": "", "budget": "error"} {
		e := searches()[name]
		s := written(t, func(b *bytes.Buffer) error { return JUnit(b, name, []Row{e.Row("")}) })
		var got junitSuites
		require.NoError(t, xml.Unmarshal([]byte(s), &got))
		c := got.Suites[0].Cases[0]
		require.Equal(t, want == "failure", c.Failure != nil, name)
		require.Equal(t, want == "error", c.Error != nil, name)
	}
}

func TestSummaryOfASearch(t *testing.T) {
	s := textOf(t, ExplorationSummary, searches()["race"])
	for _, want := range []string{
		"## invalid: dedup/get-set", "```text\nimmortal-mark in 5 steps:\n  1  client 1  GET msg    (nil)\n", "Expected duplicate-delivery: **met**",
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
	run, search := Row{Name: "run", Variant: "lock/x", Ops: 7, Verdict: harness.Valid}, searches()["exhausted"].Row("x/report.html")
	mixed := run
	mixed.Explorer = "4 steps"
	for _, rows := range [][]Row{{run, search}, {mixed, run}} {
		md := textOf(t, CompareMarkdown, rows)
		require.Contains(t, md, "| verdict | explorer | found |")
		html := textOf(t, Index, rows)
		wellFormed(t, html)
		require.Contains(t, html, "<th>explorer</th>")
		require.Contains(t, md, rows[0].Explorer+rows[1].Explorer)
		require.Contains(t, html, rows[0].Explorer+rows[1].Explorer)
		require.Contains(t, html, `<td class="n" data-label="operations">7</td>`)
	}
	md := textOf(t, CompareMarkdown, []Row{run})
	require.NotContains(t, md, "explorer")
	html := textOf(t, Index, []Row{run})
	require.NotContains(t, html, "explorer")
}

func TestAnyNumberOfClientsHasAPage(t *testing.T) {
	for _, n := range []int{0, 1, 2, 4, 5, 8, 1000} {
		searchPage(t, Exploration{Clients: n, Result: interleave.Result{Found: []interleave.Counterexample{analysistest.BlindDel()}}})
	}
}
