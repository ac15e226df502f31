package analysis

import (
	"fmt"
	"slices"
	"testing"
	"time"

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
	want := []Stage{
		{Name: Injected, Seen: true, At: 10 * sec, SeenBy: "r1"},
		{Name: Suspect, Seen: true, At: 11012 * ms, After: 1012 * ms, SeenBy: "s2"},
		{Name: Agreed, Seen: true, At: 11075 * ms, After: 1075 * ms, SeenBy: "s2"},
		{Name: Elected, Seen: true, At: 11083 * ms, After: 1083 * ms, SeenBy: "s2"},
		{Name: Accepted, Seen: true, At: 11470 * ms, After: 1470 * ms, SeenBy: "r2"},
		{Name: Promoted, Seen: true, At: 11512 * ms, After: 1512 * ms, SeenBy: "s2"},
		{Name: Switched, Seen: true, At: 11590 * ms, After: 1590 * ms, SeenBy: "s2"},
		{Name: Writable, Seen: true, At: 11701 * ms, After: 1701 * ms, SeenBy: "client 0"},
		{Name: Rejoined, Seen: true, At: 13500 * ms, After: 3500 * ms, SeenBy: "r1"},
	}
	require.Equal(t, want, f.Stages)
	require.Equal(t, Outage{Seen: true, From: 10100 * ms, To: 11701 * ms, Least: 902 * ms, Most: 1701 * ms, Failed: 2,
		Unknown: 1}, f.Outage,
		"the last that got nothing ended at 11.002 s, and nobody asked again until 11.7 s")
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
		{"not back", Rejoined, without(analysistest.OneKill(),
			func(e harness.Event) bool { return e.Node == "r1" && e.Detail == "slave" }),
			"r1 was not seen as a replica"},
		{"no roles", Rejoined, without(analysistest.OneKill(), kind("role")), "r1 was not seen as a replica"},
		{"no operations", Writable, idle, "r2 acknowledged no write of a client"},
		{"no write", Accepted, without(analysistest.OneKill(), kind(harness.EventWritable)),
			"r2 was not seen to take a write"},
	} {
		all := Failovers(c.h)
		require.Len(t, all, 1, c.name)
		require.Equal(t, Stage{Name: c.missing, Note: c.note}, all[0].Stage(c.missing), c.name)
		for _, s := range all[0].Stages {
			require.Equal(t, s.Name != c.missing, s.Seen, "%s: %s", c.name, s.Name)
		}
	}
}

// TestASuspicionBeforeTheFaultIsNotDenied has a Sentinel that misses the primary shortly before another is ordered to
// fail over. The note about the stage says only that nothing came after the fault.
func TestASuspicionBeforeTheFaultIsNotDenied(t *testing.T) {
	h := ordered(11070 * ms)
	h.Events = append(h.Events, event(11012*ms, "s2", string(Suspect), "master mymaster "+at1))
	f := Failovers(h)[0]
	require.Equal(t, "order", f.Name)
	require.Equal(t, Stage{Name: Suspect, Note: "after the fault no Sentinel said +sdown"}, f.Stage(Suspect))
	require.Equal(t, Stage{Name: Agreed, Note: "no Sentinel said +odown"}, f.Stage(Agreed))
}

// TestAPromotionNobodyAnnounced checks that a promotion counts as a failover even if no Sentinel announces it.
func TestAPromotionNobodyAnnounced(t *testing.T) {
	h := without(analysistest.OneKill(), func(e harness.Event) bool { return e.Kind == string(Switched) })
	all := Failovers(h)
	require.Len(t, all, 1)
	require.Equal(t, Stage{Name: Switched, Note: "no Sentinel said +switch-master"}, all[0].Stage(Switched))
	require.Equal(t, 1701*ms, all[0].Stage(Writable).After)
}

func TestNothingHappenedNoFailover(t *testing.T) {
	h := without(analysistest.OneKill(),
		func(e harness.Event) bool { return e.Node == "r2" || e.Kind == string(Switched) })
	require.Empty(t, Failovers(h))
	require.Empty(t, Failovers(harness.History{}))
}

func TestASuspectedReplicaIsNotTheStart(t *testing.T) {
	h := analysistest.OneKill()
	h.Events = append(h.Events, harness.Event{At: 10100 * ms, Node: "s1", Kind: "+sdown",
		Detail: "slave 127.7.2.3:6379"})
	require.Equal(t, 1012*ms, Failovers(h)[0].Stage(Suspect).After)
}

func TestOldPrimaryByRoleWhenTheTargetIsALink(t *testing.T) {
	h := analysistest.OneKill()
	h.Faults[0].Targets = []string{"r1|s1"}
	f := Failovers(h)[0]
	require.Equal(t, "r1", f.Old)
	require.True(t, f.Stage(Rejoined).Seen)
}

// TestPartitionIgnoresTheMinorityAndTheOldPrimary cuts off group 1 together with the old primary, which still
// acknowledges its writes.
func TestPartitionIgnoresTheMinorityAndTheOldPrimary(t *testing.T) {
	h := without(analysistest.OneKill(), func(e harness.Event) bool {
		return e.Kind == harness.EventServesWrites || e.Kind == harness.EventUnwritable || isRole(e, harness.RoleDown)
	})
	h.Faults[0].Name, h.Faults[0].Groups, h.Faults[0].Effects = "partition-primary", []int{1}, harness.CutsLinks
	h.Faults[0].Targets = []string{"r1", "s1", "g1"}
	h.Events = append(h.Events, serves(sec, "r1", 0), serves(sec, "r1", 1), serves(11700*ms, "r2", 0),
		serves(13600*ms, "r2", 1))
	h.Ops = harness.OpsOf([]harness.Op{
		analysistest.Add(0, 9*sec, harness.OK),
		analysistest.Add(0, 10500*ms, harness.OK), // before the promotion, still acknowledged by the old primary
		analysistest.Add(1, 11*sec, harness.OK),   // likewise
		analysistest.Add(1, 11600*ms, harness.OK), // after it
		analysistest.Add(0, 11650*ms, harness.Info),
		analysistest.Add(0, 11700*ms, harness.OK),
		analysistest.Add(1, 12*sec, harness.OK),   // after it, too
		analysistest.Add(1, 13400*ms, harness.OK), // and after the heal, before the old primary is a replica
		analysistest.Add(1, 13700*ms, harness.OK), // by the new one
		analysistest.Add(1, 13800*ms, harness.OK), // by the new one
		analysistest.Add(0, 13900*ms, harness.OK),
	})
	f := Failovers(h)[0]
	require.Equal(t, 11701*ms, f.Stage(Writable).At)
	require.Equal(t, Outage{Seen: true, From: 11650 * ms, To: 11701 * ms, Least: 2 * ms, Most: 1200 * ms, Unknown: 1},
		f.Outage)
	require.EqualValues(t, 3, f.MinorityWrites)
	require.EqualValues(t, 4, f.ExecutedWrites)
}

func serves(at time.Duration, node string, group int) harness.Event {
	return harness.Event{At: at, Node: node, Kind: harness.EventServesWrites, Detail: fmt.Sprintf("g%d", group)}
}

func TestOperationsUnderWayAtTheEndOfTheOutageCount(t *testing.T) {
	h := analysistest.OneKill()
	hanging := analysistest.Add(3, 11*sec, harness.Info)
	hanging.Return = 15 * sec
	h.Ops = harness.OpsOf([]harness.Op{analysistest.Add(0, 9*sec, harness.OK),
		analysistest.Add(0, 11700*ms, harness.OK), hanging})
	require.EqualValues(t, 1, Failovers(h)[0].Outage.Unknown)
}
