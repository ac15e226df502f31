package reports

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/doublegrant/doublegrant/harness/tally"
)

// TestManyFailoversAreSummedUpInEveryForm has kills whose first writes each come 37 ms later than the one before, and 7
// double grants after the third.
func TestManyFailoversAreSummedUpInEveryForm(t *testing.T) {
	judged := valid()
	judged.Judgements = []harness.Judgement{{Checker: "mutex", Verdict: harness.Valid},
		{Checker: "writes", Verdict: harness.Valid}}
	judged.Findings = []harness.Finding{{Class: harness.DoubleGrant, At: 25 * sec, Count: 7}}
	r := report(t, analysistest.Kills(5), judged)
	want := "5 failovers: first write 1.78 s at the median, 1.85 s at p90, 1.85 s at most; " +
		"no client that asked was answered 1.78 s at the median, 1.85 s at p90, 1.85 s at most; " +
		"1.4 double-grant a failover on average (95 % confidence interval of that average: 0 to 5.29), " +
		"no lost-write in 5 failovers (with 95 % confidence, less than 45 % of failovers have any)"
	require.Equal(t, want, r.FailoversLine())
	require.Contains(t, copied(textOf(t, HTML, r)), want)
	require.Contains(t, copied(textOf(t, Summary, r)), want)
	var d Document
	require.NoError(t, json.Unmarshal([]byte(textOf(t, JSON, r)), &d))
	require.Equal(t, 5, d.Figures.Failovers)
	first, ok := d.Figures.At("first write")
	require.True(t, ok)
	require.Equal(t, tally.Distribution{Name: "first write", Of: 5, Min: 1701 * ms, Median: 1781 * ms, P90: 1851 * ms,
		Max: 1851 * ms}, first)
	require.Equal(t, analysis.Losses{harness.DoubleGrant: 7, harness.LostWrite: 0}, d.Failovers[2].Losses)

	s := suiteWith(tally.Met)
	s.Cases[0].Add(tally.Run{Ending: tally.Met, Failovers: FailoversOf(r.Failovers), Stages: FailoverTimes()})
	for name, write := range suiteForms {
		require.Contains(t, copied(textOf(t, write, s)), "5 failovers: first write 1.78 s at the median", name)
	}
	require.Contains(t, textOf(t, SuiteJSON, s), `"p90": 1851000000`)
}

func TestLossesAreNumbersForPeople(t *testing.T) {
	for _, c := range []struct {
		of   tally.Mean
		want string
	}{
		{tally.Mean{Of: 3, Mean: 2700.4, Low: 99.94, High: 12345},
			"2,700 lost-write a failover on average (95 % confidence interval of that average: 99.9 to 12,345)"},
		{tally.Mean{Of: 3, Mean: 100, Low: 0, High: 1234.5},
			"100 lost-write a failover on average (95 % confidence interval of that average: 0 to 1,235)"},
		{tally.Mean{Of: 3, Mean: 1.0 / 3, Low: 0.04, High: 1},
			"0.333 lost-write a failover on average (95 % confidence interval of that average: 0.04 to 1)"},
		{tally.Mean{Of: 1, Mean: 4000, High: -1}, "4,000 lost-write in one failover"},
		{tally.Mean{Of: 1, High: -1}, "0 lost-write in one failover"},
		{tally.Mean{Of: 30, High: -1},
			"no lost-write in 30 failovers (with 95 % confidence, less than 9.5 % of failovers have any)"},
		{tally.Mean{Of: 3000, High: -1},
			"no lost-write in 3,000 failovers (with 95 % confidence, less than 0.1 % of failovers have any)"},
	} {
		c.of.Name = "lost-write"
		require.Equal(t, c.want, lossOf(c.of))
	}
}

// TestOneFailoverOfASuiteHasNoDistribution checks that its times are said once.
func TestOneFailoverOfASuiteHasNoDistribution(t *testing.T) {
	r := report(t, analysistest.Kills(1), valid())
	require.Equal(t, "1 failover: first write 1.70 s; no client that asked was answered 1.70 s",
		FailoversLine(figuresOf(r.Failovers)))
}

// TestAFailoverBeyondItsLimitComesWithWhatToLookAt expects the client library to be named only where the limit includes
// the library's time.
func TestAFailoverBeyondItsLimitComesWithWhatToLookAt(t *testing.T) {
	r := tally.Run{Ending: tally.NotMet, Limit: "first write", Expected: "valid"}
	require.Contains(t, advice(r), "which stage takes longest")
	require.Contains(t, advice(r), "the client library")
	r.Limit = "takes writes"
	require.NotContains(t, advice(r), "the client library")
	r.Ending = tally.Undecided
	require.Contains(t, advice(r), "a fault that moves the primary")
}

// TestFailoversThatShowNotEverythingAreCounted has a cost that is a range, and a failover without a write by a client.
func TestFailoversThatShowNotEverythingAreCounted(t *testing.T) {
	h := analysistest.Kills(5)
	r := report(t, h, valid())
	r.Failovers[1].Outage = analysis.Outage{Seen: true, From: sec, To: 11 * sec, Least: 8 * sec, Most: 10 * sec}
	stages := r.Failovers[3].Stages
	stages[slices.Index(analysis.Milestones(), analysis.Writable)].Seen = false
	all := FailoversOf(r.Failovers)
	require.Equal(t, tally.Range{Least: 8 * sec, Most: 10 * sec}, all[1].Range(analysis.NoAnswers))
	require.Equal(t, tally.Range{Most: tally.Unbounded}, all[3].Range("first write"))
	line := r.FailoversLine()
	require.Contains(t, line, "5 failovers: first write (4 of 5) 1.")
	require.Contains(t, line, "no client that asked was answered (4 of 5) 1.")

	table := failoverRows(r.Failovers)
	foot := table.Foot[len(table.Foot)-1]
	require.Equal(t, "seen in", foot.Name)
	require.Equal(t, "4 of 5", foot.Cells[slices.Index(table.Heads, "first write")])
	require.Equal(t, "5 of 5", foot.Cells[0])
	require.Len(t, failoverRows(report(t, h, valid()).Failovers).Foot, 4, "all show everything")
}

// TestAFailoverWithoutOneCauseIsReadable has a failover with two possible causes, and one with none.
func TestAFailoverWithoutOneCauseIsReadable(t *testing.T) {
	h := analysistest.OneKill()
	other := h.Faults[0]
	other.Name, other.Start = "pause-primary", 10*sec+ms
	h.Faults = append(h.Faults, other)
	r := report(t, h, valid())
	page := textOf(t, HTML, r)
	require.Contains(t, page, "after one of kill-primary, pause-primary: r1 → r2")
	require.Contains(t, page, "Which of the faults it was cannot be told.")
	require.Contains(t, textOf(t, Summary, r), "one of kill-primary, pause-primary, r1 to r2")

	h.Faults = nil
	r = report(t, h, valid())
	require.Contains(t, copied(textOf(t, Summary, r)), "### Failover, no fault caused it, r1 to r2")
	page = textOf(t, HTML, r)
	require.Contains(t, page, "no fault caused it: r1 → r2")
	require.Contains(t, page, "Time counts from the first sign")
}

// TestATableOfFailoversSaysWhatIsParticular has two failovers without a write, the second of them beside another fault.
func TestATableOfFailoversSaysWhatIsParticular(t *testing.T) {
	h := analysistest.Kills(2)
	h.Ops = nil
	h.Faults = append(h.Faults, harness.Fault{Name: "slicer", Effects: harness.SlowsLinks, Targets: []string{"r3"},
		Start: 13 * sec, Heal: 14 * sec, End: 15 * sec})
	r := report(t, h, valid())
	const name, want = "2 kill-primary, r2 to r1", "beside slicer; r1 acknowledged no write of a client"
	require.Equal(t, "2 failovers: first write (0 of 2); no client that asked was answered (0 of 2)", r.FailoversLine())
	require.Contains(t, textOf(t, Summary, r), name+": "+want)
	require.Contains(t, textOf(t, Summary, r), "### 2 failovers\n\n"+aboutTimes)
	require.Contains(t, textOf(t, HTML, r), aboutTimes)
	require.Contains(t, textOf(t, HTML, r), "<dt>"+name+"</dt><dd>"+want+"</dd>")
}
