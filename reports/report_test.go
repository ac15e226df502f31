package reports

import (
	"errors"
	"regexp"
	"slices"
	"testing"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"

	"github.com/stretchr/testify/require"
)

func TestFaultsAreNumberedByTheirStart(t *testing.T) {
	h := analysistest.OneKill()
	h.Faults = []harness.Fault{analysistest.FaultOf("latency", 12*sec, 15*sec, "r3"),
		analysistest.FaultOf("skew", 2*sec, 3*sec, "g0"), h.Faults[0]}
	recorded := slices.Clone(h.Faults)
	r := report(t, h, valid())
	require.Equal(t, recorded, h.Faults, "the caller's history stays as it is")
	require.Equal(t, 1, r.Failovers[0].Fault)
	page := textOf(t, HTML, r)
	for _, want := range []string{"after fault 2, kill-primary", ">1 skew</text>", ">2 kill-primary</text>",
		">3 latency</text>"} {
		require.Contains(t, page, want)
	}
	rows := regexp.MustCompile(`<tr><td class="n" data-label="no.">(\d)</td>`+
		`<td class="mono title" data-label="fault">([a-z-]+)</td>`).FindAllStringSubmatch(page, -1)
	require.Len(t, rows, 3)
	for i, name := range []string{"skew", "kill-primary", "latency"} {
		require.Equal(t, name, rows[i][2])
	}
}

func TestAReportOfWhatCouldNotBeReadToItsEnd(t *testing.T) {
	broken := errors.New("checksum")
	r, err := New(harness.History{Ops: func(yield func(harness.Op, error) bool) {
		_ = yield(harness.Op{Outcome: harness.OK, Return: ms}, nil) && yield(harness.Op{}, broken)
	}}, harness.Judged{})
	require.ErrorIs(t, err, broken)
	require.EqualValues(t, 1, r.Stats.Totals.OK)
}

func TestSeveralFailoversAreATable(t *testing.T) {
	all := analysis.Failovers(analysistest.Kills(10))
	table := failoverRows(all)
	require.Len(t, table.Rows, 10)
	require.Equal(t, "1.01 s", table.Foot[0].Cells[0])
	require.Equal(t, 9, slowest(all))
}

// TestAFaultThatTheRecordDoesNotSeeHealed checks that such a fault is reported as open: the run was killed during it.
func TestAFaultThatTheRecordDoesNotSeeHealed(t *testing.T) {
	h := analysistest.OneKill()
	h.Faults[0].Heal, h.Faults[0].End = 0, 0
	h.End = nil
	r := report(t, h, valid())
	page := textOf(t, HTML, r)
	require.Contains(t, page, "not on record")
	require.Contains(t, page, "never seen")
	require.Equal(t, 1590*ms, r.Failovers[0].Stage(analysis.Switched).After)

	h.Faults[0].Groups = []int{0}
	h.Faults = append(h.Faults, harness.Fault{Number: 2, Name: "later", Start: 15 * sec})
	require.Len(t, analysis.Failovers(h), 1)
}

// TestNoLossesAreClaimedWhereNobodyKnows expects 0 losses only of checkers that saw everything, by trusted clocks.
func TestNoLossesAreClaimedWhereNobodyKnows(t *testing.T) {
	untrusted := []harness.Event{{Kind: harness.EventClockUntrusted, Node: "generator-2", Detail: "it stepped"}}
	for _, c := range []struct {
		name          string
		mutex, writes harness.Verdict
		events        []harness.Event
		want          analysis.Losses
	}{
		{"both have seen all", harness.Valid, harness.Invalid, nil,
			analysis.Losses{harness.DoubleGrant: 0, harness.LostWrite: 0}},
		{"one was cut short", harness.Valid, harness.Unknown, nil, analysis.Losses{harness.DoubleGrant: 0}},
		{"both were cut short", harness.Unknown, harness.Unknown, nil, nil},
		{"a clock is in doubt", harness.Valid, harness.Valid, untrusted, nil},
	} {
		h := analysistest.OneKill()
		h.Events = append(h.Events, c.events...)
		judged := valid()
		judged.Judgements = []harness.Judgement{{Checker: "mutex", Verdict: c.mutex},
			{Checker: "writes", Verdict: c.writes}}
		r := report(t, h, judged)
		require.Equal(t, c.want, r.Failovers[0].Losses, c.name)
	}
}

// TestTheEventsOfSentinelsAreInPlainWordsToo: the table of events has the words of the waterfall.
func TestTheEventsOfSentinelsAreInPlainWordsToo(t *testing.T) {
	r := Report{History: harness.History{Events: []harness.Event{{Kind: "+odown"}, {Kind: "+switch-master"}}}}
	page := textOf(t, HTML, r)
	require.Contains(t, page, `<span class="mono nowrap">&#43;odown</span> a quorum misses it</td>`)
	require.Contains(t, page, "new one announced</td>")
}
