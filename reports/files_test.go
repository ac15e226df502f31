package reports

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/stretchr/testify/require"
)

// pageOf returns the page that write writes of v. The test fails unless the page is strict XHTML.
func pageOf[T any](t *testing.T, write func(io.Writer, T) error, v T) string {
	t.Helper()
	page := textOf(t, write, v)
	wellFormed(t, page)
	return page
}

func wellFormed(t *testing.T, html string) {
	eachElement(t, html, func(_ *xml.Decoder, start xml.StartElement) {
		require.NotContains(t, []string{"script", "iframe", "object", "link", "img"}, start.Name.Local)
		for _, a := range start.Attr {
			require.False(t, strings.HasPrefix(a.Name.Local, "on"), "handler %s", a.Name.Local)
			require.NotContains(t, a.Value, "NaN")
			require.NotContains(t, a.Value, "Inf")
		}
	})
}

// eachElement calls see at the start of each element of a page, except those inside an element that see decodes.
func eachElement(t *testing.T, html string, see func(d *xml.Decoder, start xml.StartElement)) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(html))
	d.Entity = xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		if start, ok := token.(xml.StartElement); ok {
			see(d, start)
		}
	}
}

// pages returns every kind of page, by name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"index of nothing": textOf(t, Index, nil), "nothing": textOf(t, HTML, Report{})}
	var rows []Row
	for name, r := range demos(t) {
		all[name] = textOf(t, HTML, r)
		rows = append(rows, RowOf(r, name+"/report.html"))
	}
	for name, e := range searches() {
		all["explore "+name] = textOf(t, ExplorationHTML, e)
		rows = append(rows, e.Row(name+"/report.html"))
	}
	all["index"] = textOf(t, Index, rows)
	once, soak := suiteWith(tally.Met, tally.NotMet, tally.Failed), suiteWith(tally.Met, tally.Undecided)
	soak.For = time.Hour
	all["nightly"] = textOf(t, SuiteHTML, nightly())
	all["suite"], all["merged"], all["soak"] = textOf(t, SuiteHTML, once), textOf(t, SuiteHTML, mergedSuite()),
		textOf(t, SuiteHTML, soak)
	all["comparison"] = textOf(t, ComparisonHTML, Rank(append(rows, numbering()...)))
	all["reproduction"] = textOf(t, ReproductionHTML, split())
	return all
}

// A page loads nothing from elsewhere, and no text breaks out of its place.
func TestEveryPageIsWholeAndHarmless(t *testing.T) {
	for name, page := range pages(t) {
		wellFormed(t, page)
		for _, bad := range []string{"src=", "url(", "http://", "https://", "<script", `href="javascript`, "\u202e"} {
			require.NotContains(t, page, bad, name)
		}
	}
}

// The texts that a page must contain, by its name in pages.
func TestPagesTellTheFacts(t *testing.T) {
	all := pages(t)
	for name, facts := range map[string][]string{
		"nothing": {"No operation was recorded", "No fault was injected", "None was found", "Nothing was judged"},
		"rich": {
			"lock/set-nx-px", "1234567890123", "expected double-grant: met", "two owners for", "certified by porcupine",
			`href="anomalies/0.html"`, "partition-primary", "refused (held)", "connection refused", "group cut off",
			"writes of clients after the promotion", "old primary joins", "porcupine agreed on 38 of 38 keys",
			"&#43;switch-master",
			"24 in 3 groups", "mutex was 262,144 operations behind", "no client crashed while it held a lock",
		},
		"explore race": {
			"dedup/get-set", "expected duplicate-delivery: met", "at most 1 crash and 1 expiry",
			"GET; if absent SET, EXPIRE, deliver",
			"Atomic operations by Lua (article), plan one", "2026-11-21 04:00 UTC", "15,455", "800 µs", "everything",
			"duplicate-delivery in 7 steps", "two workers were told that they are the first",
			"clients 1 and 2 were both told",
			`href="anomalies/immortal-mark.json"`, "10.005 s", "crashes",
			"<pre>doublegrant explore dedup/get-set --clients 3</pre>",
			"--replay anomalies/duplicate-delivery.json</pre>",
		},
		"overlapping":      {"Faults: 1 refuse, 2 partition-primary, 3 slicer, ", "after fault 2, partition-primary"},
		"explore some":     {"Not every schedule was run: it was to stop at the first counterexample."},
		"explore evil":     {"47 more lines are in the table only"},
		"index of nothing": {"No run is listed"},
		"index":            {`href="rich/report.html"`, "5 of 16 runs ended as they should"},
	} {
		for _, fact := range facts {
			require.Contains(t, copied(all[name]), fact, name)
		}
	}
	require.Equal(t, 10, strings.Count(all["rich"], `<details class="anomaly"`))
	require.Equal(t, 3, strings.Count(all["rich"], `<details class="anomaly" open`))
	require.NotContains(t, all["explore race"], "clients 0 and 1")
	require.NotContains(t, all["explore race"], "Not every schedule was run")
	for name, e := range searches() {
		require.Equal(t, len(e.Result.Counterexamples), strings.Count(all["explore "+name], `<div class="sequence">`))
	}
}

// copied returns a page's text as it is copied: without the markup around the words of commands.
func copied(page string) string {
	return strings.NewReplacer("<span>", "", "</span>", "").Replace(page)
}

func TestHostileTextIsEscapedEverywhere(t *testing.T) {
	r := hostile(t)
	for _, f := range Formats() {
		text := textOf(t, f.Write, r)
		if f.File == SummaryFile {
			text = withoutCode(text)
			require.NotContains(t, text, "@team")
		}
		require.NotContains(t, text, "<script", f.File)
		require.NotContains(t, text, `href="javascript`, f.File)
	}
	require.NotContains(t, pageOf(t, Index, []Row{RowOf(r, "javascript:alert(1)")}), `href="javascript`)
}

// withoutCode drops code spans, in which Markdown shows everything unchanged.
func withoutCode(s string) string {
	var b strings.Builder
	for i, part := range strings.Split(strings.ReplaceAll(s, "\\`", ""), "`") {
		if i%2 == 0 {
			b.WriteString(part)
		}
	}
	return b.String()
}

func TestAnomaliesBeyondTheLimitAreCounted(t *testing.T) {
	j := invalid()
	for len(j.Anomalies) < 50 {
		j.Anomalies = append(j.Anomalies, duplicateNumber())
	}
	html := pageOf(t, HTML, report(t, analysistest.Synthetic(), j))
	require.Equal(t, maxAnomalies, strings.Count(html, `<details class="anomaly"`))
	require.Contains(t, html, "verdict.json has 50")
}

// anomalyPage returns the page of one anomaly.
func anomalyPage(t *testing.T, a harness.Anomaly) string {
	t.Helper()
	j := invalid()
	j.Anomalies = []harness.Anomaly{a}
	return pageOf(t, HTML, report(t, analysistest.OneKill(), j))
}

func TestThePictureShowsTheSpansThatTheCheckerJudged(t *testing.T) {
	kind := func(k harness.SpanKind) func(*harness.Anomaly) {
		return func(a *harness.Anomaly) { a.Spans[1].Kind = k }
	}
	touch := func(more time.Duration) func(*harness.Anomaly) {
		return func(a *harness.Anomaly) { a.Spans[0].To = a.Spans[1].From + more }
	}
	for name, c := range map[string]struct {
		change   func(*harness.Anomaly)
		overlaps int
		want     []string
	}{
		"two certain holds": {func(*harness.Anomaly) {}, 1, []string{
			"holds k from 0.001 s to 1.480 s (1.48 s): its owner releases it", "two owners for 269 ms",
			"two owners from 1.211 s to 1.480 s (269 ms): its owner releases it"}},
		"holds that touch":           {touch(0), 0, nil},
		"a nanosecond is an overlap": {touch(1), 1, []string{"two owners for 1 ns"}},
		"without an end, to the edge": {func(a *harness.Anomaly) {
			for i := range a.Spans {
				a.Spans[i].To, a.Spans[i].Until = 0, harness.NothingEnds
			}
		}, 1, []string{"on: its lease has no end", "two owners without end"}},
		// Only certain holds cannot overlap.
		"perhaps held": {kind(harness.PossibleHold), 0, []string{
			`<rect class="hold maybe"`, "may have k from 1.211 s to 3.190 s", "</i>perhaps held</span>"}},
		"past": {kind(harness.PastLease), 0, []string{
			`<rect class="hold past"`, "every lease is over from 1.211 s to 3.190 s",
			"</i>every lease is over</span>"}},
		"next owner": {kind(harness.NextOwner), 0, []string{
			"granted from 1.211 s on, and wrote before 3.190 s", "</i>the next owner has been granted it</span>"}},
		"largest token": {kind(harness.LargestToken), 0, []string{
			"its fencing token was given out by 1.211 s", "</i>the larger token has been given out</span>"}},
		"still held": {kind(harness.StillHeld), 0, []string{
			"certainly has k from 1.211 s on", "</i>the later owner has the lock</span>"}},
	} {
		a := doubleGrant("k", 0)
		c.change(&a)
		page := anomalyPage(t, a)
		require.Equal(t, 2, strings.Count(page, `<rect class="hold`), name)
		require.Equal(t, c.overlaps, strings.Count(page, `class="overlap"`), name)
		require.Equal(t, c.overlaps > 0, strings.Contains(page, "two owners for") ||
			strings.Contains(page, "two owners without"), name)
		for _, text := range c.want {
			require.Contains(t, page, text, name)
		}
	}
}

// A verdict of an older program has no spans.
func TestAnAnomalyWithoutSpansIsDrawnByItsOperations(t *testing.T) {
	a := doubleGrant("k", 0)
	a.Spans = nil
	page := anomalyPage(t, a)
	require.NotContains(t, page, `class="hold"`)
	require.NotContains(t, page, `class="overlap"`)
	require.Contains(t, page, `class="op ok"`)
	require.Contains(t, page, "Bars are operations: the checker names no times in which somebody held it.")
	text, err := json.Marshal(a)
	require.NoError(t, err)
	require.NotContains(t, string(text), "spans", "verdict.json only grows")
}

func TestJSONRoundTrip(t *testing.T) {
	r := demos(t)["rich"]
	var d Document
	require.NoError(t, json.Unmarshal([]byte(textOf(t, JSON, r)), &d))
	want := DocumentOf(r)
	want.Stats.Buckets, want.Stats.Width = nil, 0
	require.Equal(t, want, d)
	require.Equal(t, r.Notes, d.Notes)
}

func TestJSONHasListsAndNames(t *testing.T) {
	bare := Exploration{Result: interleave.Result{Counterexamples: []interleave.Counterexample{{}}}}
	for text, c := range map[string]struct{ has, hasNot []string }{
		textOf(t, JSON, Report{}): {
			[]string{`"verdict": "unknown"`, `"anomalies": []`, `"failovers": []`, `"totals": {}`, `"end": null`,
				`"schema": 1`}, []string{`"met"`},
		},
		textOf(t, ExplorationJSON, Exploration{}): {
			[]string{`"schema": 1`, `"kind": "exploration"`, `"verdict": "unknown"`, `"found": []`, `"elapsed": 0`},
			[]string{`"met"`, `"started"`},
		},
		textOf(t, ExplorationJSON, bare): {nil, []string{"null"}},
	} {
		for _, want := range c.has {
			require.Contains(t, text, want)
		}
		for _, not := range c.hasNot {
			require.NotContains(t, text, not)
		}
	}
	require.Nil(t, bare.Result.Counterexamples[0].Steps, "the caller's own stays as it is")
}

func TestSentences(t *testing.T) {
	silent := Report{Judged: harness.Judged{Judgements: []harness.Judgement{{Checker: "lock",
		Reason: "no contention."}}}}
	require.Equal(t, "Nothing can be said: nothing was judged.", Report{}.Sentence())
	require.Equal(t, "Nothing can be said: lock: no contention.", silent.Sentence())
	require.Regexp(t, `^No violation in [\d,]+ operations of 24 clients through 2 faults\.$`,
		report(t, analysistest.Synthetic(), valid()).Sentence())
}

func TestJUnit(t *testing.T) {
	rows := []Row{
		{Name: "valid", Verdict: harness.Valid},
		{Name: "invalid", Verdict: harness.Invalid, Sentence: "Found 1 double-grant.", First: "two owners",
			Command: "doublegrant run x"},
		{Name: "unknown", Verdict: harness.Unknown},
		{Name: "invalid as expected", Verdict: harness.Invalid, Expected: "double-grant", Met: true},
		{Name: "valid, not as expected", Verdict: harness.Valid, Expected: "double-grant"},
		{Name: "unknown, not as expected", Verdict: harness.Unknown, Expected: "double-grant"},
	}
	for _, name := range []string{"race", "blind", "stuck", "exhausted", "budget"} {
		rows = append(rows, searches()[name].Row(""))
	}
	s := junitRead(t, rows...)
	require.Equal(t, [3]int{11, 5, 2}, [3]int{s.Tests, s.Failures, s.Errors})
	for i, want := range []string{"", "failure", "error", "", "failure", "failure", "", "failure", "failure", "",
		"error"} {
		require.Equal(t, want == "failure", s.Cases[i].Failure != nil, rows[i].Name)
		require.Equal(t, want == "error", s.Cases[i].Error != nil, rows[i].Name)
	}
	require.Contains(t, s.Cases[1].Failure.Text, "two owners")
	require.Contains(t, s.Cases[1].Failure.Text, "doublegrant run x")
}

func TestSummary(t *testing.T) {
	b := textOf(t, Summary, demos(t)["rich"])
	for _, want := range []string{"## invalid: lock/set-nx-px", "194 double-grant", "First anomaly", "`lock:4`",
		"2 failovers", "median", "Run it again", "> mutex was 262,144 operations behind"} {
		require.Contains(t, b, want)
	}
	b = textOf(t, Summary, report(t, analysistest.OneKill(), valid()))
	require.Contains(t, b, "Failover after kill-primary")
	require.Contains(t, b, "2 failed, 1 unknown")
}

func TestTablesKeepTheirShape(t *testing.T) {
	b := textOf(t, ComparisonMarkdown, Rank([]Row{{Variant: "a|b`c", Regime: "x\ny", Found: "1 |", First: "<b>"},
		RowOf(hostile(t), "")}))
	_, b, _ = strings.Cut(b, "\n| ")
	for _, line := range strings.Split("| "+strings.TrimSpace(b), "\n") {
		require.Equal(t, 8, strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"), line)
	}
}
