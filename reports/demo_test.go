package reports

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/stretchr/testify/require"
)

// TestDemo writes every kind of report into a folder.
func TestDemo(t *testing.T) {
	out := t.TempDir()
	var rows []Row
	for name, r := range demos(t) {
		require.NoError(t, Write(filepath.Join(out, name), r))
		require.NoError(t, Write(filepath.Join(out, name), r), "they are replaced")
		require.Equal(t, []string{JUnitFile, ReportFile, SummaryFile, VerdictFile},
			filesIn(t, filepath.Join(out, name)), "no temporary file is left")
		rows = append(rows, RowOf(r, name+"/report.html"))
	}
	for name, e := range searches() {
		require.NoError(t, WriteExploration(filepath.Join(out, "explore-"+name), e))
		require.Equal(t, []string{JUnitFile, ReportFile, SummaryFile, VerdictFile},
			filesIn(t, filepath.Join(out, "explore-"+name)), "the same")
		rows = append(rows, e.Row("explore-"+name+"/report.html"))
		require.NoError(t, searchText(t.Output(), e))
	}
	index := filepath.Join(out, "index.html")
	require.NoError(t, WriteFile(index, func(w io.Writer) error { return Index(w, rows) }))
	require.NoError(t, ComparisonMarkdown(t.Output(), Rank(rows)))
	before := filesIn(t, out)
	require.ErrorIs(t, WriteFile(index, func(io.Writer) error { return io.ErrShortWrite }), io.ErrShortWrite)
	require.Equal(t, before, filesIn(t, out), "nor after a failure")
}

// filesIn lists the names in a folder.
func filesIn(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func demos(t *testing.T) map[string]Report {
	rich := report(t, analysistest.Synthetic(), invalid())
	rich.Command = "doublegrant run lock/set-nx-px --topology sentinel --nemesis partition-primary,kill-primary " +
		"--clients 24 --seed 1234567890123"
	rich.Expected, rich.Met = "double-grant", true
	rich.Notes = []string{"mutex was 262,144 operations behind the recordinging"}
	rich.Pages = map[int]string{0: "anomalies/0.html"}
	empty := report(t, harness.History{Meta: harness.Meta{Name: "empty"}}, harness.Judged{})
	calm := analysistest.Synthetic()
	calm.Faults, calm.Events = nil, nil
	ten := report(t, analysistest.Kills(10), valid())
	ten.Expected, ten.Met = "lost-write", false
	return map[string]Report{
		"rich": rich, "empty": empty, "calm": report(t, calm, valid()), "ten": ten, "hostile": hostile(t),
		"overlapping": report(t, overlapping(), valid()),
	}
}

func report(t *testing.T, h harness.History, j harness.Judged) Report {
	r, err := New(h, j)
	require.NoError(t, err)
	return r
}

// overlapping returns a run with many faults that overlap, in order of their End.
func overlapping() harness.History {
	h := analysistest.Synthetic()
	for i, name := range []string{"refuse", "slicer", "latency", "bandwidth", "skew-clients", "clock-step", "drop",
		"drop"} {
		start := time.Duration(i)*1300*ms + 3*sec
		h.Faults = append(h.Faults, harness.Fault{
			Name: name, Targets: []string{"g0", "r3"}, Start: start, Active: start + 5*ms, Heal: start + 5*sec,
			End:    start + 6*sec,
			Proved: true, Proof: "seen",
		})
	}
	slices.SortStableFunc(h.Faults, func(a, b harness.Fault) int { return cmp.Compare(a.End, b.End) })
	return h
}

// hostile returns a report in which every text from outside tries to break out of its place.
func hostile(t *testing.T) Report {
	const evil = `</title></script><script>alert(1)</script>"'&|` + "`" + `onload=x @team` + "\x00\x1b[31m"
	h := harness.History{
		Meta: harness.Meta{Name: evil, Workers: 2, Clients: 2, Groups: 2,
			Labels: map[string]string{"variant": evil, evil: evil}},
		Ops: harness.OpsOf([]harness.Op{
			{Client: 0, Kind: harness.Kind(evil), Key: evil, Arg: evil, Result: evil, Call: 1, Return: ms, Err: evil},
			{Client: 1, Kind: harness.Add, Key: evil, Call: 3 * sec, Return: 3*sec + ms, Outcome: harness.OK},
		}),
		Faults: []harness.Fault{{Name: evil, Targets: []string{evil}, Start: sec, Active: sec, Heal: 2 * sec,
			End: 2 * sec, Proof: evil, Groups: []int{0}}},
		Events: []harness.Event{{At: 1500 * ms, Node: evil, Kind: string(analysis.Switched), Detail: evil},
			{At: sec, Node: evil, Kind: evil, Detail: evil}},
		End: &harness.End{At: 3 * sec, Reason: evil},
	}
	a := doubleGrant(evil, sec)
	a.Class, a.Note, a.Faults, a.Ops[0].Arg, a.Ops[1].Err = harness.Class(evil), evil, []string{evil}, evil, evil
	r := report(t, h, harness.Judged{
		Verdict: harness.Invalid, Totals: map[harness.Class]int{harness.Class(evil): 1},
		Anomalies: []harness.Anomaly{a},
		Judgements: []harness.Judgement{{Checker: evil, Reason: evil,
			Figures: []harness.Figure{{Name: evil, Unit: evil}}}},
	})
	r.Command, r.Expected, r.Pages = evil, evil, map[int]string{0: `javascript:alert(1)//"><script>alert(2)</script>`}
	return r
}
