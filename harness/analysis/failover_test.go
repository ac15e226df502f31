package analysis

import (
	"slices"
	"testing"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/stretchr/testify/require"
)

func without(h harness.History, gone func(harness.Event) bool) harness.History {
	h.Events = slices.DeleteFunc(slices.Clone(h.Events), gone)
	return h
}

func TestStagesOfAKill(t *testing.T) {
	all := Failovers(analysistest.OneKill())
	require.Len(t, all, 1)
	f := all[0]
	require.Equal(t, "r1", f.Old)
	require.Equal(t, "r2", f.New)
	require.Zero(t, f.Again)
	want := []Stage{
		{Name: Injected, Seen: true, At: 10 * sec, By: "r1"},
		{Name: Suspect, Seen: true, At: 11012 * ms, After: 1012 * ms, By: "s2"},
		{Name: Agreed, Seen: true, At: 11075 * ms, After: 1075 * ms, By: "s2"},
		{Name: Elected, Seen: true, At: 11083 * ms, After: 1083 * ms, By: "s2"},
		{Name: Accepted, Seen: true, At: 11470 * ms, After: 1470 * ms, By: "r2"},
		{Name: Promoted, Seen: true, At: 11512 * ms, After: 1512 * ms, By: "s2"},
		{Name: Switched, Seen: true, At: 11590 * ms, After: 1590 * ms, By: "s2"},
		{Name: Writable, Seen: true, At: 11701 * ms, After: 1701 * ms, By: "client 0"},
		{Name: Rejoined, Seen: true, At: 13500 * ms, After: 3500 * ms, By: "r1"},
	}
	require.Equal(t, want, f.Stages)
	require.Equal(t, Outage{Seen: true, From: 9996 * ms, To: 11701 * ms, Failed: 2, Unknown: 1}, f.Outage)
	require.Equal(t, Downtime{Seen: true, From: 10002 * ms, To: 11470 * ms}, f.Servers)
}

func TestMissingStagesSaySo(t *testing.T) {
	kind := func(k Milestone) func(harness.Event) bool {
		return func(e harness.Event) bool { return e.Kind == string(k) }
	}
	idle := analysistest.OneKill()
	idle.Ops = nil
	for _, c := range []struct {
		name    string
		missing Milestone
		h       harness.History
		note    string
	}{
		{"no sdown", Suspect, without(analysistest.OneKill(), kind(Suspect)), "no Sentinel said +sdown"},
		{"no odown", Agreed, without(analysistest.OneKill(), kind(Agreed)), "no Sentinel said +odown"},
		{"no election", Elected, without(analysistest.OneKill(), kind(Elected)), "no Sentinel said +elected-leader"},
		{"no promotion", Promoted, without(analysistest.OneKill(), kind(Promoted)), "no Sentinel said +promoted-slave"},
		{"not back", Rejoined, without(analysistest.OneKill(), func(e harness.Event) bool { return e.Node == "r1" && e.Detail == "slave" }), "r1 was not seen as a replica"},
		{"no roles", Rejoined, without(analysistest.OneKill(), kind("role")), "r1 was not seen as a replica"},
		{"no operations", Writable, idle, "r2 acknowledged no write of a client"},
		{"no write", Accepted, without(analysistest.OneKill(), kind(harness.EventWritable)), "r2 was not seen to take a write"},
	} {
		all := Failovers(c.h)
		require.Len(t, all, 1, c.name)
		require.Equal(t, Stage{Name: c.missing, Note: c.note}, all[0].Stage(c.missing), c.name)
		for _, s := range all[0].Stages {
			require.Equal(t, s.Name != c.missing, s.Seen, "%s: %s", c.name, s.Name)
		}
	}
}

func TestNoSwitchNoFailover(t *testing.T) {
	h := without(analysistest.OneKill(), func(e harness.Event) bool { return e.Kind == string(Switched) })
	require.Empty(t, Failovers(h))
	require.Empty(t, Failovers(harness.History{}))
}

func TestASuspectedReplicaIsNotTheStart(t *testing.T) {
	h := analysistest.OneKill()
	h.Events = append(h.Events, harness.Event{At: 10100 * ms, Node: "s1", Kind: "+sdown", Detail: "slave 127.7.2.3:6379"})
	require.Equal(t, 1012*ms, Failovers(h)[0].Stage(Suspect).After)
}

func TestOldPrimaryByRoleWhenTheTargetIsALink(t *testing.T) {
	h := analysistest.OneKill()
	h.Faults[0].Targets = []string{"r1|s1"}
	f := Failovers(h)[0]
	require.Equal(t, "r1", f.Old)
	require.True(t, f.Stage(Rejoined).Seen)
}

func TestPartitionIgnoresTheMinorityAndTheOldPrimary(t *testing.T) {
	h := analysistest.OneKill()
	h.Faults[0].Name, h.Faults[0].Groups = "partition-primary", []int{1}
	h.Ops = harness.OpsOf([]harness.Op{
		analysistest.Add(0, 9*sec, harness.OK),
		analysistest.Add(0, 10500*ms, harness.OK), // still acknowledged by the old primary, before the promotion
		analysistest.Add(1, 11600*ms, harness.OK), // minority
		analysistest.Add(0, 11650*ms, harness.Info),
		analysistest.Add(0, 11700*ms, harness.OK),
		analysistest.Add(1, 12*sec, harness.OK), // minority
		analysistest.Add(1, 14*sec, harness.OK), // after the heal
	})
	f := Failovers(h)[0]
	require.Equal(t, 11701*ms, f.Stage(Writable).At)
	require.Equal(t, Outage{Seen: true, From: 10501 * ms, To: 11701 * ms, Unknown: 1}, f.Outage)
	require.EqualValues(t, 2, f.Minority)
}

func TestOperationsUnderWayAtTheEndOfTheOutageCount(t *testing.T) {
	h := analysistest.OneKill()
	hanging := analysistest.Add(3, 11*sec, harness.Info)
	hanging.Return = 15 * sec
	h.Ops = harness.OpsOf([]harness.Op{analysistest.Add(0, 9*sec, harness.OK), analysistest.Add(0, 11700*ms, harness.OK), hanging})
	require.EqualValues(t, 1, Failovers(h)[0].Outage.Unknown)
}

func TestFailoversAfterTheFirstAreCounted(t *testing.T) {
	h := analysistest.OneKill()
	h.Events = append(h.Events, harness.Event{At: 20 * sec, Node: "s2", Kind: string(Switched), Detail: "mymaster 127.7.2.2 6379 127.7.2.1 6379"})
	require.Equal(t, 1, Failovers(h)[0].Again)
}
