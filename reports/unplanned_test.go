package reports

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/doublegrant/doublegrant/harness/tally"
)

// TestAFailoverThatNoFaultCausedIsCalledThat looks at every form of a run for the load of the machine and what to do.
func TestAFailoverThatNoFaultCausedIsCalledThat(t *testing.T) {
	for load, says := range map[string]string{
		"12.3 on 2 cores": "; the machine was busy (load 12.3 on 2 cores)",
		"1.5 on 2 cores":  "; the load of the machine was 1.5 on 2 cores",
		"":                "",
	} {
		h := analysistest.OneKill()
		require.Empty(t, report(t, h, valid()).Unplanned(), "a fault caused it")
		h.Faults = nil
		if load != "" {
			at := slices.IndexFunc(h.Events, func(e harness.Event) bool { return e.Kind == string(analysis.Suspect) })
			h.Events = append(h.Events, harness.Event{At: h.Events[at].At, Node: "s2", Kind: harness.EventLoad, Detail: load})
		}
		r := report(t, h, valid())
		want := "a failover that no fault caused: r1 did not answer the Sentinels for 1,000 ms or longer" + says
		require.Equal(t, want, r.Unplanned())
		note := "A" + want[1:] + ". " + analysis.RemedyUncaused
		require.Contains(t, copied(textOf(t, HTML, r)), note)
		require.Contains(t, copied(textOf(t, Summary, r)), note)
		require.Contains(t, textOf(t, func(w io.Writer, r Report) error {
			return ReportText(w, r, Layout{Width: 1000})
		}, r), "unplanned "+note)
		row := RowOf(r, "")
		row.Verdict, row.Expected = harness.Invalid, ""
		require.Contains(t, junitCaseOf(row).problem(), want)
	}
}

// TestARunOfASuiteWithAnUnplannedFailoverIsNotTheLocksFaultFirst: the advice begins with the machine.
func TestARunOfASuiteWithAnUnplannedFailoverIsNotTheLocksFaultFirst(t *testing.T) {
	r := tally.Run{Ending: tally.NotMet, Found: "3 double-grant", Expected: "valid"}
	alone := advice(r)
	r.Unplanned = "a failover that no fault caused"
	require.Equal(t, analysis.RemedyUncaused+" If it ends like this without such a failover: "+alone, advice(r))
	r.Ending = tally.Met
	require.Empty(t, advice(r))
}

// TestAPageShowsItsFailoverFirst looks also for plain words for Sentinel's own, and for why there were two primaries.
func TestAPageShowsItsFailoverFirst(t *testing.T) {
	r := report(t, analysistest.Synthetic(), valid())
	page := textOf(t, HTML, r)
	at := func(part string) int {
		require.Equal(t, 1, strings.Count(page, part), part)
		return strings.Index(page, part)
	}
	require.Less(t, at(`<section id="failovers">`), at(`<div class="facts">`))
	require.Contains(t, page, "a quorum misses it")
	require.Contains(t, copied(page), "This is the split-brain window: r1 was cut off, stood still or had been killed")

	page = textOf(t, HTML, report(t, harness.History{}, valid()))
	require.Greater(t, at(`<section id="failovers">`), at(`<div class="facts">`), "there is none to show")
	one := textOf(t, Summary, report(t, analysistest.OneKill(), valid()))
	require.Contains(t, copied(one), "+odown: a quorum misses it")
}
