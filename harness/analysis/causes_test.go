package analysis

import (
	"testing"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/stretchr/testify/require"
)

func TestTheFaultThatExplainsASwitch(t *testing.T) {
	// In oneKill the primary r1 is missed from 10 s on, +sdown is at 11.012 s and +switch-master at 11.59 s.
	pause := analysistest.FaultOf("pause-primary", 10*sec, 13*sec, "r1")
	unsafe := analysistest.FaultOf("partition", 10*sec, 13*sec, "r1", "g0")
	unsafe.Groups = []int{0}
	never := analysistest.FaultOf("kill-primary", 2*sec, 3*sec, "r1")
	never.End = 0
	for _, c := range []struct {
		name   string
		faults []harness.Fault
		want   string
	}{
		{"bad links begin during the pause", []harness.Fault{pause, analysistest.FaultOf("latency", 10866*ms, 12*sec, "g0", "g1", "r1")}, "pause-primary"},
		{"the pause is recorded last", []harness.Fault{analysistest.FaultOf("latency", 10866*ms, 12*sec, "r1", "r2"), pause}, "pause-primary"},
		{"bad links of clients began before the pause", []harness.Fault{analysistest.FaultOf("latency", sec, 30*sec, "g0", "g1", "r1"), pause}, "pause-primary"},
		{"clients stop before, during", []harness.Fault{analysistest.FaultOf("freeze-clients", sec, 30*sec, "g1"), pause, analysistest.FaultOf("skew", 11*sec, 12*sec, "g0")}, "pause-primary"},
		{"a replica was lost before", []harness.Fault{analysistest.FaultOf("kill-replica", 9*sec, 20*sec, "r3"), pause}, "pause-primary"},
		{"a partition cuts the primary off", []harness.Fault{analysistest.FaultOf("kill-replica", 9*sec, 20*sec, "r3"), unsafe}, "partition"},
		{"a Sentinel is made to begin", []harness.Fault{analysistest.FaultOf("slicer", 9*sec, 20*sec, "g0", "r1"), analysistest.FaultOf("sentinel-failover", 11*sec, 12*sec, "s1")}, "sentinel-failover"},
		{"both struck the primary", []harness.Fault{pause, analysistest.FaultOf("memory-pressure", 10500*ms, 15*sec, "r1")}, "pause-primary"},
		{"one was healed when the other began", []harness.Fault{{Name: "kill-primary", Targets: []string{"r1"}, Start: 2 * sec, Heal: 4 * sec, End: 20 * sec}, pause}, "pause-primary"},
		{"one never seen whole", []harness.Fault{never, pause}, "pause-primary"},
		{"healed just before the switch", []harness.Fault{analysistest.FaultOf("pause-primary", 10*sec, 11500*ms, "r1"), analysistest.FaultOf("freeze-clients", 11*sec, 20*sec, "g0")}, "pause-primary"},
		{"clients alone", []harness.Fault{analysistest.FaultOf("freeze-clients", 10*sec, 20*sec, "g0")}, "freeze-clients"},
		{"of those that were over the last", []harness.Fault{analysistest.FaultOf("kill-primary", 2*sec, 4*sec, "r1"), analysistest.FaultOf("kill-replica", 6*sec, 7*sec, "r3")}, "kill-replica"},
	} {
		h := analysistest.OneKill()
		h.Faults = c.faults
		all := Failovers(h)
		require.Len(t, all, 1, c.name)
		require.Equal(t, []string{c.want, "r1", "r2"}, []string{all[0].Name, all[0].Old, all[0].New}, c.name)
		require.Equal(t, c.want, h.Faults[all[0].Fault].Name, c.name)
	}
}

func TestAFaultBesideAnotherTakesNothingFromItsFailover(t *testing.T) {
	want := Failovers(analysistest.OneKill())
	h := analysistest.OneKill()
	h.Faults = append(h.Faults, analysistest.FaultOf("latency", 10866*ms, 12*sec, "g0", "g1", "r1"), analysistest.FaultOf("latency", 11650*ms, 20*sec, "g0", "r1"))
	require.Equal(t, want, Failovers(h))
}

func TestOverlappingFaultsEachWithAFailover(t *testing.T) {
	h := analysistest.OneKill()
	h.Events = append(h.Events, analysistest.FailoverEvents(12*sec, "r2", "r3", 2, 3)...)
	h.Faults = []harness.Fault{analysistest.FaultOf("kill-primary", 12*sec, 15*sec, "r2"), h.Faults[0]}
	h.Faults[1].Name = "pause-primary"
	all := Failovers(h)
	require.Len(t, all, 2)
	require.Equal(t, []string{"pause-primary", "kill-primary"}, []string{all[0].Name, all[1].Name})
	require.Equal(t, []string{"r1", "r2", "r2", "r3"}, []string{all[0].Old, all[0].New, all[1].Old, all[1].New})
	for _, f := range all {
		require.Equal(t, 1012*ms, f.Stage(Suspect).After)
		require.Equal(t, 1590*ms, f.Stage(Switched).After)
		require.Zero(t, f.Again)
	}
}
