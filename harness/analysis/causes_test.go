package analysis

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
)

// doing returns a fault with the given effects.
func doing(effects harness.Effects, name string, start, heal time.Duration, targets ...string) harness.Fault {
	f := analysistest.FaultOf(name, start, heal, targets...)
	f.Effects = effects
	return f
}

// In OneKill Sentinels miss the primary r1 from 10 s on: +sdown is at 11.012 s and 11.043 s, the promotion at 11.47 s,
// +switch-master at 11.59 s.
func TestTheFaultThatLedToAFailover(t *testing.T) {
	kill := doing(harness.EndsProcess, "kill", 10*sec, 13*sec, "r1")
	pause := doing(harness.StopsProcess, "pause", 10*sec, 13*sec, "r1")
	begins := func(f harness.Fault, at time.Duration) harness.Fault {
		f.Start, f.Active = at, at+5*ms
		return f
	}
	heals := func(f harness.Fault, at time.Duration) harness.Fault {
		f.Heal, f.End = at, at+500*ms
		return f
	}
	split := doing(harness.CutsLinks, "split", 10*sec, 13*sec, "r1", "s1", "g0")
	split.Groups = []int{0}
	with := doing(harness.CutsLinks, "with it", 9990*ms, 13*sec, "r1", "s1", "s2", "g0")
	with.Groups = []int{0}
	clients := doing(harness.CutsLinks, "cut clients", 9*sec, 20*sec, "r1", "g0")
	clients.Groups = []int{0}
	slow := begins(kill, 9900*ms)
	slow.Name, slow.Active = "slow", 10100*ms // it may have acted before the kill, or after
	never := doing(harness.EndsProcess, "never whole", 2*sec, 3*sec, "r1")
	never.End = 0
	killAgain := heals(begins(kill, 5*sec), 6*sec)
	killAgain.Name = "killed before"
	for _, c := range []struct {
		name   string
		faults []harness.Fault
		want   string
		beside string
	}{
		{"connections of clients are killed",
			[]harness.Fault{doing(harness.EndsConnections, "client-kill", 9500*ms, 18*sec, "r1"), pause}, "pause",
			"client-kill"},
		{"keys are evicted", []harness.Fault{doing(harness.DropsKeys, "pressure", 8*sec, 18*sec, "r1"), kill}, "kill",
			"pressure"},
		{"clients lose the primary", []harness.Fault{clients, pause}, "pause", "cut clients"},
		{"the clock of the primary", []harness.Fault{doing(harness.ShiftsClock, "clock", 8*sec, 18*sec, "r1"), kill},
			"kill", "clock"},
		{"writes wait", []harness.Fault{doing(harness.DefersWrites, "writes wait", 9900*ms, 18*sec, "r1"), kill},
			"kill", "writes wait"},
		{"writes of another node wait", []harness.Fault{doing(harness.DefersWrites, "writes wait", 9900*ms, 18*sec,
			"r3"), begins(kill, 10500*ms)}, noCause, "writes wait, kill"},
		{"the clock of the Sentinel that began",
			[]harness.Fault{doing(harness.ShiftsClock, "clock", 8*sec, 18*sec, "s2")}, "clock", ""},
		{"the clock of another Sentinel", []harness.Fault{doing(harness.ShiftsClock, "clock", 8*sec, 18*sec, "s1")},
			noCause, "clock"},
		{"its clock, beside a kill that fits",
			[]harness.Fault{doing(harness.ShiftsClock, "clock", 8*sec, 18*sec, "s2"), kill}, "kill", "clock"},
		{"all commands wait", []harness.Fault{doing(harness.DefersCommands, "commands wait", 10*sec, 18*sec, "r1")},
			"commands wait", ""},
		{"replicas lose the primary", []harness.Fault{doing(harness.CutsLinks, "cut replicas", 9990*ms, 18*sec, "r1",
			"r2", "r3"), kill}, "kill", "cut replicas"},
		{"one Sentinel loses it", []harness.Fault{doing(harness.CutsLinks, "cut one", 9990*ms, 18*sec, "r1", "s1"),
			kill}, "kill", "cut one"},
		{"two Sentinels lose it", []harness.Fault{doing(harness.CutsLinks, "cut two", 9990*ms, 18*sec, "r1", "s1",
			"s2")}, "cut two", ""},
		{"a split", []harness.Fault{split}, "split", ""},
		{"another node ends", []harness.Fault{doing(harness.EndsProcess, "kill-replica", 9990*ms, 18*sec, "r3"), kill},
			"kill", "kill-replica"},
		{"a Sentinel ends", []harness.Fault{doing(harness.EndsProcess, "kill-sentinel", 9990*ms, 18*sec, "s3"), kill},
			"kill", "kill-sentinel"},
		{"it was silent already", []harness.Fault{pause, begins(kill, 10030*ms)}, "pause", "kill"},
		{"it was silent already, and is recorded last", []harness.Fault{begins(kill, 10030*ms), pause}, "pause",
			"kill"},
		{"too late for the +sdown", []harness.Fault{pause, begins(kill, 10300*ms)}, "pause", "kill"},
		{"too early for the +sdown", []harness.Fault{begins(split, 5*sec), kill}, "kill", "split"},
		{"a ping was not answered before", []harness.Fault{begins(kill, 10250*ms)}, "kill", ""},
		{"nobody can tell", []harness.Fault{slow, pause}, "one of slow, pause", ""},
		{"the second acted before the third began", []harness.Fault{slow, pause, begins(kill, 10250*ms)},
			"one of slow, pause", "kill"},
		{"clients and most Sentinels stay with the primary", []harness.Fault{with, kill}, "kill", "with it"},
		{"links are slow for long", []harness.Fault{doing(harness.SlowsLinks, "latency", 3*sec, 18*sec, "r1", "s1",
			"s2", "s3"), kill}, "kill", "latency"},
		{"links become slow with it", []harness.Fault{doing(harness.SlowsLinks, "latency", 9990*ms, 18*sec, "r1", "s1",
			"s2", "s3"), kill}, "kill", "latency"},
		{"slow links alone", []harness.Fault{doing(harness.SlowsLinks, "latency", 9990*ms, 18*sec, "r1", "s1", "s2",
			"s3")}, "latency", ""},
		{"a restart at once", []harness.Fault{doing(harness.EndsProcess|harness.StartsProcess, "reboot", 10*sec,
			10100*ms, "r1")}, noCause, ""},
		{"healed before the other began", []harness.Fault{killAgain, pause}, "pause", ""},
		{"never seen whole", []harness.Fault{never, pause}, "pause", ""},
		{"healed just before the switch", []harness.Fault{heals(pause, 11500*ms)}, "pause", ""},
		{"healed just before the +sdown", []harness.Fault{heals(kill, 10900*ms)}, "kill", ""},
		{"an operator who came late", []harness.Fault{kill,
			doing(harness.MovesPrimary, "order", 11200*ms, 12*sec, "s1")}, "kill", "order"},
		{"clients alone", []harness.Fault{doing(harness.StopsClients, "freeze", 10*sec, 20*sec, "g0")}, noCause,
			"freeze"},
		{"nothing", nil, noCause, ""},
		{"undeclared, of an older program", []harness.Fault{analysistest.FaultOf("latency", 9*sec, 20*sec, "g0", "r1"),
			analysistest.FaultOf("drill", 10*sec, 13*sec, "r1")}, "drill", "latency"},
	} {
		h := analysistest.OneKill()
		h.Faults = c.faults
		all := Failovers(h)
		require.Len(t, all, 1, c.name)
		f := all[0]
		require.Equal(t, []string{c.want, "r1", "r2"}, []string{f.Name, f.Old, f.New}, c.name)
		require.Equal(t, c.beside, strings.Join(f.OtherFaults, ", "), c.name)
		switch {
		case c.want == noCause:
			require.Equal(t, -1, f.Fault, c.name)
			require.False(t, f.Stage(Injected).Seen, c.name)
		case f.Candidates == nil:
			require.Equal(t, c.want, h.Faults[f.Fault].Name, c.name)
		default:
			require.Len(t, f.Candidates, 2, c.name)
			require.Equal(t, 9900*ms, f.Start, "%s: the first of them", c.name)
		}
	}
}

// ordered returns a failover that a Sentinel was ordered to begin: no Sentinel misses the primary before.
func ordered(order time.Duration) harness.History {
	h := without(analysistest.OneKill(), func(e harness.Event) bool {
		return e.Kind == string(Suspect) || e.Kind == string(Agreed) || e.Kind == harness.EventUnwritable ||
			isRole(e, harness.RoleDown)
	})
	h.Faults = []harness.Fault{doing(harness.MovesPrimary, "order", order, order+ms, "s2")}
	h.Faults[0].End = 13 * sec
	return h
}

func TestAFailoverThatASentinelWasToldToBegin(t *testing.T) {
	h := ordered(11070 * ms)
	h.Faults = append(h.Faults, doing(harness.StopsProcess, "pause", 10*sec, 13*sec, "r1"),
		doing(harness.EndsConnections, "client-kill", 10*sec, 12*sec, "r1"))
	f := Failovers(h)[0]
	require.Equal(t, "order", f.Name, "the pause would have been missed a second later")
	require.Equal(t, []string{"pause", "client-kill"}, f.OtherFaults)
	require.Equal(t, 13*ms, f.Stage(Elected).After)
	require.False(t, f.Stage(Suspect).Seen)
}

// TestWhoeverWasNotHeardMayHaveSaidIt has a failover for which no Sentinel's message is recorded. Any fault in force
// may be the cause, even one that orders a Sentinel to fail over.
func TestWhoeverWasNotHeardMayHaveSaidIt(t *testing.T) {
	h := ordered(11070 * ms)
	h = without(h, func(e harness.Event) bool { return e.Kind == attempted || e.Kind == string(Elected) })
	h.Faults = append(h.Faults, doing(harness.StopsProcess, "pause", 10*sec, 13*sec, "r1"))
	h.Events = append(h.Events, harness.Event{At: 9 * sec, Node: "s2", Kind: harness.EventSubscriptionLost,
		Detail: "EOF"},
		harness.Event{At: 12 * sec, Node: "s2", Kind: harness.EventSubscriptionBack})
	f := Failovers(h)[0]
	require.Equal(t, "one of pause, order", f.Name)
	require.Equal(t, "not known: s2 was not heard for a time, and no other Sentinel said +elected-leader",
		f.Stage(Elected).Note)
}

func TestAFaultBesideAnotherChangesNothingButThat(t *testing.T) {
	want := Failovers(analysistest.OneKill())
	h := analysistest.OneKill()
	h.Faults = append(h.Faults, doing(harness.SlowsLinks, "latency", 10866*ms, 12*sec, "g0", "g1", "r1"),
		doing(harness.SlowsLinks, "late", 11650*ms, 20*sec, "g0", "r1"))
	want[0].OtherFaults = []string{"latency"}
	require.Equal(t, want, Failovers(h))
}

func TestTheWordsOfACauseCountWhatWasBesideIt(t *testing.T) {
	f := Failover{Name: "pause", OtherFaults: []string{"client-kill", "cut", "client-kill", "client-kill"}}
	require.Equal(t, "pause (beside 3 client-kill, cut)", f.Cause())
}

func TestOverlappingFaultsEachWithAFailover(t *testing.T) {
	h := analysistest.OneKill()
	h.Events = append(h.Events, analysistest.Role(0, "r3", harness.RoleReplica))
	h.Events = append(h.Events, analysistest.FailoverEvents(12*sec, "r2", "r3", 2, 3)...)
	h.Faults = []harness.Fault{doing(harness.EndsProcess, "kill-primary", 12*sec, 15*sec, "r2"),
		doing(harness.StopsProcess, "pause-primary", 10*sec, 13*sec, "r1")}
	all := Failovers(h)
	require.Len(t, all, 2)
	require.Equal(t, []string{"pause-primary", "kill-primary"}, []string{all[0].Name, all[1].Name})
	require.Equal(t, []string{"r1", "r2", "r2", "r3"}, []string{all[0].Old, all[0].New, all[1].Old, all[1].New})
	for _, f := range all {
		require.Equal(t, 1012*ms, f.Stage(Suspect).After)
		require.Equal(t, 1590*ms, f.Stage(Switched).After)
	}
}
