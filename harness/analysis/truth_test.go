package analysis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
)

// threeKills returns a history with kills of r1, r2 and r3 in turn. A restarted node is a primary for a second, since
// its configuration still says so.
func threeKills() harness.History {
	h := harness.History{Events: append(analysistest.Addressed(), analysistest.Role(0, "r1", "master"),
		analysistest.Role(0, "r2", "slave"), analysistest.Role(0, "r3", "slave"))}
	for i, move := range [][2]int{{1, 2}, {2, 3}, {3, 2}} {
		start := time.Duration(i+1) * 10 * sec
		old, now := []string{"", "r1", "r2", "r3"}[move[0]], []string{"", "r1", "r2", "r3"}[move[1]]
		h.Events = append(h.Events, analysistest.FailoverEvents(start, old, now, move[0], move[1])...)
		h.Events = append(h.Events, analysistest.Role(start+4*sec, old, "master"),
			analysistest.Role(start+5*sec, old, "slave"))
		h.Faults = append(h.Faults, harness.Fault{
			Number: i + 1, Name: "kill-primary", Effects: harness.EndsProcess, Targets: []string{old}, Start: start,
			Active: start + 5*ms,
			Heal:   start + 3*sec, End: start + 6*sec, Proved: true,
		})
	}
	return h
}

func TestWhoFollowedWhomIsWhoWasPromoted(t *testing.T) {
	older := without(threeKills(), func(e harness.Event) bool {
		return e.Kind == harness.EventAddress || e.Kind == harness.EventWritable || e.Kind == harness.EventServesWrites
	})
	for name, h := range map[string]harness.History{"as recorded now": threeKills(), "of an older program": older} {
		all := Failovers(h)
		require.Len(t, all, 3, name)
		for i, want := range [][2]string{{"r1", "r2"}, {"r2", "r3"}, {"r3", "r2"}} {
			require.Equal(t, want, [2]string{all[i].Old, all[i].New}, name)
			require.Equal(t, i, all[i].Fault, name)
			require.Equal(t, 5*sec, all[i].Stage(Rejoined).After, "%s, %d: the old primary joins as a replica", name, i)
		}
	}
}

// TestTheFirstWriteIsTheNewPrimarys has an old primary that clients still reach and that still acknowledges writes.
func TestTheFirstWriteIsTheNewPrimarys(t *testing.T) {
	h := analysistest.OneKill()
	h.Faults[0].Name, h.Faults[0].Effects = "sentinel-failover", harness.MovesPrimary
	h = without(h, func(e harness.Event) bool { return e.Kind == harness.EventServesWrites })
	h.Events = append(h.Events, harness.Event{At: sec, Node: "r1", Kind: harness.EventServesWrites, Detail: "g0"},
		harness.Event{At: sec, Node: "r1", Kind: harness.EventServesWrites, Detail: "g1"},
		harness.Event{At: 11902 * ms, Node: "r2", Kind: harness.EventServesWrites, Detail: "g1"})
	h.Ops = harness.OpsOf([]harness.Op{
		analysistest.Add(0, 11700*ms, harness.OK), // after the promotion, by the old primary
		analysistest.Add(1, 11800*ms, harness.OK), // likewise
		analysistest.Refusal(1, 11902*ms),         // by the new one, and not a write
		analysistest.Add(0, 11903*ms, harness.OK), // by the old one: this group has not moved yet
		analysistest.Add(1, 11904*ms, harness.OK),
	})
	f := Failovers(h)[0]
	require.Equal(t, 11905*ms, f.Stage(Writable).At)
	require.Equal(t, "client 1", f.Stage(Writable).SeenBy)

	h = without(h, func(e harness.Event) bool { return e.Kind == harness.EventServesWrites && e.Node == "r2" })
	require.Equal(t, Stage{Name: Writable, Note: "r2 acknowledged no write of a client"},
		Failovers(h)[0].Stage(Writable))
}

// TestWhatALockGuardsIsNoWriteOfThePrimary checks that updates of the resource that a lock guards do not count as
// writes: they stay in the harness.
func TestWhatALockGuardsIsNoWriteOfThePrimary(t *testing.T) {
	h := analysistest.OneKill()
	guarded := analysistest.Add(0, 11650*ms, harness.OK)
	guarded.Key = harness.Guarded("lock")
	h.Ops = harness.OpsOf([]harness.Op{analysistest.Add(0, 9*sec, harness.OK), guarded,
		analysistest.Add(0, 11700*ms, harness.OK)})
	require.Equal(t, 11701*ms, Failovers(h)[0].Stage(Writable).At)
}

// TestEffectsNotNamesSayWhatEndedThePrimary reads records that do not say which node answered. The fault's effects, not
// its name, then tell whether the old primary can have executed a write.
func TestEffectsNotNamesSayWhatEndedThePrimary(t *testing.T) {
	h := without(analysistest.OneKill(), func(e harness.Event) bool { return e.Kind == harness.EventServesWrites })
	h.Ops = harness.OpsOf([]harness.Op{analysistest.Add(0, 9*sec, harness.OK),
		analysistest.Add(0, 11460*ms, harness.OK), analysistest.Add(0, 11700*ms, harness.OK)})
	for _, c := range []struct {
		name    string
		effects harness.Effects
		target  string
		want    time.Duration
	}{
		{"kill-primary", harness.EndsProcess, "r1", 11461 * ms}, // it cannot have been the old one
		{"restart-primary", harness.EndsProcess, "r1", 11461 * ms},
		{"kill-primary", 0, "r1", 11701 * ms}, // from an older program: not known
		{"restart-primary-at-once", harness.EndsProcess | harness.StartsProcess, "r1", 11701 * ms},
		{"client-kill", harness.EndsConnections, "r1", 11701 * ms},
		{"kill-replica", harness.EndsProcess, "r3", 11701 * ms},
	} {
		h.Faults[0].Name, h.Faults[0].Effects, h.Faults[0].Targets = c.name, c.effects, []string{c.target}
		require.Equal(t, c.want, Failovers(h)[0].Stage(Writable).At, "%s %v", c.name, c.effects)
	}
}

// TestWhoIsToldHeldIsServed checks that refusals count as answers.
func TestWhoIsToldHeldIsServed(t *testing.T) {
	h := analysistest.OneKill()
	ops := []harness.Op{analysistest.Add(0, 9*sec, harness.OK)}
	for at := 9 * sec; at < 11*sec; at += 10 * ms {
		ops = append(ops, analysistest.Refusal(1, at))
	}
	extend := analysistest.Add(0, 11200*ms, harness.Fail)
	extend.Kind, extend.Err = harness.Extend, harness.NotMine
	ops = append(ops, analysistest.Add(0, 11100*ms, harness.Info), extend, analysistest.Add(0, 11300*ms, harness.Fail),
		analysistest.Add(0, 11700*ms, harness.OK))
	h.Ops = harness.OpsOf(ops)
	require.Equal(t, Outage{Seen: true, From: 11100 * ms, To: 11201 * ms, Least: 2 * ms, Most: 500 * ms, Unknown: 1},
		Failovers(h)[0].Outage,
		"whoever failed at 11.3 s may have failed alone")
}

// TestNobodyWaitsWhereNobodyAsks checks that pauses in a load of one operation a second are not an outage.
func TestNobodyWaitsWhereNobodyAsks(t *testing.T) {
	h := analysistest.OneKill()
	h.Ops = harness.OpsOf([]harness.Op{
		analysistest.Add(0, 8*sec, harness.OK), analysistest.Add(0, 10500*ms, harness.OK),
		analysistest.Add(0, 11*sec, harness.Info), analysistest.Add(0, 11700*ms, harness.OK),
	})
	require.Equal(t, Outage{Seen: true, From: 11 * sec, To: 11701 * ms, Least: 2 * ms, Most: 1200 * ms, Unknown: 1},
		Failovers(h)[0].Outage)
}

func TestDowntimeOfServers(t *testing.T) {
	writable := func(t time.Duration, node string) harness.Event {
		return harness.Event{At: t, Node: node, Kind: harness.EventWritable}
	}
	ceased := func(t time.Duration, node string) harness.Event {
		return harness.Event{At: t, Node: node, Kind: harness.EventUnwritable}
	}
	for _, c := range []struct {
		name string
		more []harness.Event
		want Downtime
	}{
		{"the old one ended", []harness.Event{ceased(10*sec, "r1"), writable(11470*ms, "r2")},
			Downtime{Seen: true, From: 10 * sec, To: 11470 * ms}},
		{"the old one goes on for a while", []harness.Event{writable(11470*ms, "r2"), ceased(12*sec, "r1")},
			Downtime{Seen: true, From: 11470 * ms, To: 11470 * ms, BothWritable: 530 * ms}},
		{"the old one comes back as a primary",
			[]harness.Event{ceased(10*sec, "r1"), writable(11470*ms, "r2"), writable(13*sec, "r1"),
				ceased(13400*ms, "r1")},
			Downtime{Seen: true, From: 10 * sec, To: 11470 * ms, BothWritable: 400 * ms}},
		{"an earlier end is another matter",
			[]harness.Event{ceased(2*sec, "r1"), writable(3*sec, "r1"), ceased(10*sec, "r1"), writable(11470*ms, "r2")},
			Downtime{Seen: true, From: 10 * sec, To: 11470 * ms}},
		{"the old one is back before", []harness.Event{ceased(10*sec, "r1"), writable(11100*ms, "r1"),
			writable(11470*ms, "r2"), ceased(12*sec, "r1")},
			Downtime{Seen: true, From: 10 * sec, To: 11100 * ms, BothWritable: 530 * ms}},
		{"the new one took none", []harness.Event{ceased(10*sec, "r1")}, Downtime{}},
	} {
		h := without(analysistest.OneKill(), func(e harness.Event) bool {
			return (e.Kind == harness.EventWritable || e.Kind == harness.EventUnwritable) && e.At > sec
		})
		h.Events = append(h.Events, c.more...)
		require.Equal(t, c.want, Failovers(h)[0].Servers, c.name)
	}
}
