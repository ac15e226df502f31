package analysis

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
)

// event returns an event. Addresses are those of analysistest.
func event(at time.Duration, node, kind, detail string) harness.Event {
	return harness.Event{At: at, Node: node, Kind: kind, Detail: detail}
}

func follows(at time.Duration, node, address string) harness.Event {
	return event(at, node, harness.EventFollows, address)
}

const at1, at2, at3 = "127.7.2.1 6379", "127.7.2.2 6379", "127.7.2.3 6379"

// crashAfterPromotion returns a run in which Sentinel s1 promotes r3 and then crashes. The other Sentinels make r3 a
// replica again. When s1 is back at 16 s, the others believe that r3 is the primary, find that it is not, and promote
// r2. Clients are sent to r3 from 16 s to 18.4 s.
func crashAfterPromotion() harness.History {
	h := harness.History{Meta: harness.Meta{Workers: 4, Groups: 1}, End: &harness.End{At: 30 * sec}}
	h.Faults = []harness.Fault{doing(harness.MovesPrimary|harness.EndsProcess, "crash", 10*sec, 16*sec, "s1")}
	h.Faults[0].End = 20 * sec
	h.Events = append(analysistest.Addressed(), analysistest.Role(ms, "r1", "master"),
		analysistest.Role(ms, "r2", "slave"), analysistest.Role(ms, "r3", "slave"),
		follows(ms, "r2", at1), follows(ms, "r3", at1), serves(ms, "r1", 0),
		event(10*sec+ms, "s1", "+try-failover", "master mymaster "+at1),
		event(10*sec+10*ms, "s1", "+elected-leader", "master mymaster "+at1),
		event(10300*ms, "r3", harness.EventWritable, ""), analysistest.Role(10310*ms, "r3", "master"),
		event(10900*ms, "s1", "+promoted-slave", "slave 127.7.2.3:6379 127.7.2.3 6379 @ mymaster "+at1),
		event(11300*ms, "r3", harness.EventUnwritable, "READONLY"), analysistest.Role(11310*ms, "r3", "slave"),
		follows(11311*ms, "r3", at1),
		event(16*sec, "s2", "+switch-master", "mymaster "+at1+" "+at3),
		event(16010*ms, "s3", "+switch-master", "mymaster "+at1+" "+at3),
		serves(16*sec, "r3", 0), // a script that finds nothing to release does not write
		event(17500*ms, "s2", "+sdown", "master mymaster "+at3),
		event(17600*ms, "s3", "+sdown", "master mymaster "+at3),
		event(17650*ms, "s2", "+odown", "master mymaster "+at3+" #quorum 2/2"),
		event(17660*ms, "s2", "+elected-leader", "master mymaster "+at3),
		event(17900*ms, "r2", harness.EventWritable, ""), analysistest.Role(17910*ms, "r2", "master"),
		event(18*sec, "s2", "+promoted-slave", "slave 127.7.2.2:6379 127.7.2.2 6379 @ mymaster "+at3),
		event(18100*ms, "r1", harness.EventUnwritable, "READONLY"), analysistest.Role(18110*ms, "r1", "slave"),
		follows(18111*ms, "r1", at2), follows(18120*ms, "r3", at2),
		event(18300*ms, "s2", "+switch-master", "mymaster "+at3+" "+at2),
		event(18310*ms, "s1", "+switch-master", "mymaster "+at3+" "+at2),
		serves(18400*ms, "r2", 0))
	var ops []harness.Op
	at := 9 * sec
	for ; at < 16*sec; at += 10 * ms {
		ops = append(ops, analysistest.Add(0, at, harness.OK))
	}
	for ; at < 18400*ms; at += 10 * ms {
		op := analysistest.Add(0, at, harness.Fail)
		if op.Err = "READONLY"; at%(100*ms) == 0 {
			op.Kind, op.Err = harness.Release, harness.NotMine // from a node that could not have released anything
		}
		ops = append(ops, op)
	}
	for ; at < 19*sec; at += 10 * ms {
		ops = append(ops, analysistest.Add(0, at, harness.OK))
	}
	h.Ops = harness.OpsOf(ops)
	return h
}

func TestAPromotionThatNeverServed(t *testing.T) {
	all := Failovers(crashAfterPromotion())
	require.Len(t, all, 2)
	a, b := all[0], all[1]
	require.Equal(t, []string{"crash", "r1", "r3", "", "crash", "r1", "r2", "r3"},
		[]string{a.Name, a.Old, a.New, a.Mistaken, b.Name, b.Old, b.New, b.Mistaken})
	require.Equal(t, []time.Duration{10300 * ms, 11310 * ms, 17900 * ms, 0},
		[]time.Duration{a.Promoted, a.NewUntil, b.Promoted, b.NewUntil})
	require.Equal(t, Stage{Name: Writable,
		Note: "r3 acknowledged no write of a client; it was a replica again after 1.01 s"}, a.Stage(Writable))
	require.Equal(t, Stage{Name: Rejoined, Note: "r1 never followed r3: next it followed r2"}, a.Stage(Rejoined))
	require.Equal(t, []time.Duration{300 * ms, 900 * ms, 6 * sec},
		[]time.Duration{a.Stage(Accepted).After, a.Stage(Promoted).After, a.Stage(Switched).After})
	require.Equal(t, []time.Duration{7500 * ms, 7650 * ms, 7660 * ms, 7900 * ms, 8 * sec, 8300 * ms, 8401 * ms,
		8110 * ms}, []time.Duration{
		b.Stage(Suspect).After, b.Stage(Agreed).After, b.Stage(Elected).After, b.Stage(Accepted).After,
		b.Stage(Promoted).After, b.Stage(Switched).After, b.Stage(Writable).After, b.Stage(Rejoined).After,
	})
	require.Equal(t, Outage{Seen: true, From: 16 * sec, To: 18401 * ms, Least: 2401*ms - 9*ms, Most: 2410 * ms,
		Failed: 240}, b.Outage)
	require.Equal(t, b.Outage.To, b.Writes.To)
	require.EqualValues(t, []int64{0, 0, 60}, []int64{a.ExecutedWrites, b.MinorityWrites, b.ExecutedWrites})
	require.Less(t, a.Outage.Most, 20*ms, "r1 served all the while")
	require.EqualValues(t, 101, a.MinorityWrites, "r1 went on beside r3, and later alone")
	require.Equal(t, sec, a.Servers.BothWritable)
	require.Zero(t, b.Servers.Length(), "r1 took writes until r2 did")
}

// TestALateAnnouncementIsNoFailover has a Sentinel that was cut off and announces all that it missed when it is back.
func TestALateAnnouncementIsNoFailover(t *testing.T) {
	h := analysistest.OneKill()
	h.Events = append(h.Events, event(13*sec, "s1", string(Switched), "mymaster "+at1+" "+at2),
		event(15*sec, "s1", string(Switched), "mymaster "+at1+" "+at2))
	require.Len(t, Failovers(h), 1)
	require.Equal(t, 1590*ms, Failovers(h)[0].Stage(Switched).After)
}

// TestAFormerPrimaryThatComesBackIsNotPromoted restarts a node whose configuration is still that of a primary.
func TestAFormerPrimaryThatComesBackIsNotPromoted(t *testing.T) {
	h := analysistest.OneKill()
	h.Events = append(h.Events, event(13100*ms, "r1", harness.EventWritable, ""),
		analysistest.Role(13110*ms, "r1", "master"), event(13450*ms, "r1", harness.EventUnwritable, "READONLY"))
	h.Events = append(h.Events, serves(13200*ms, "r1", 1))
	h.Ops = harness.OpsOf([]harness.Op{analysistest.Add(0, 11700*ms, harness.OK),
		analysistest.Add(1, 13200*ms, harness.OK), analysistest.Add(1, 13300*ms, harness.OK)})
	all := Failovers(h)
	require.Len(t, all, 1)
	require.EqualValues(t, 2, all[0].MinorityWrites, "whoever it served meanwhile was served by the old primary")
}

// TestANodeMayBePromotedTwice switches back and forth between two nodes.
func TestANodeMayBePromotedTwice(t *testing.T) {
	h := analysistest.OneKill()
	h.Events = append(h.Events, analysistest.Role(22*sec, "r2", "slave"))
	h.Events = append(h.Events, analysistest.FailoverEvents(20*sec, "r2", "r1", 2, 1)...)
	h.Events = append(h.Events, analysistest.FailoverEvents(30*sec, "r1", "r2", 1, 2)...)
	var moves []string
	for _, f := range Failovers(h) {
		moves = append(moves, f.Old+f.New)
		require.Equal(t, f.Promoted+120*ms, f.Stage(Switched).At)
		require.Equal(t, f.Promoted+42*ms, f.Stage(Promoted).At)
	}
	require.Equal(t, []string{"r1r2", "r2r1", "r1r2"}, moves)
}

// TestWithoutRolesAnAnnouncementIsAFailoverUnlessItIsLate reads three failovers and two late announcements: from a
// complete record, from one without roles, and from one also without addresses.
func TestWithoutRolesAnAnnouncementIsAFailoverUnlessItIsLate(t *testing.T) {
	h := analysistest.OneKill()
	h.Events = append(h.Events, analysistest.FailoverEvents(20*sec, "r2", "r1", 2, 1)...)
	h.Events = append(h.Events, analysistest.FailoverEvents(30*sec, "r1", "r2", 1, 2)...)
	h.Events = append(h.Events, event(32*sec, "s1", string(Switched), "mymaster "+at2+" "+at1)) // s1 was cut off
	h.Events = append(h.Events, event(25*sec, "s1", string(Switched), "mymaster "+at1+" "+at2))
	h.Events = append(h.Events, analysistest.Role(22*sec, "r2", "slave"))
	for _, gone := range []string{"nothing", harness.EventRole, harness.EventAddress} {
		h = without(h, func(e harness.Event) bool { return e.Kind == gone })
		all := Failovers(h)
		require.Len(t, all, 3, "without %s", gone)
		for i, f := range all {
			require.Equal(t, time.Duration(i+1)*10*sec+1590*ms, f.Stage(Switched).At)
		}
	}
}

// TestTheNextFailoverTakesNothingFromTheFirst kills r2 just after it has taken over, and checks that the figures of the
// first failover stay the same.
func TestTheNextFailoverTakesNothingFromTheFirst(t *testing.T) {
	h := analysistest.OneKill()
	first := Failovers(h)[0]
	h.Events = slices.DeleteFunc(h.Events, func(e harness.Event) bool { return e.At == 13500*ms })
	h.Events = append(h.Events, analysistest.Role(0, "r3", "slave"), follows(ms, "r3", at1),
		analysistest.Role(15*sec, "r1", "slave"), follows(15*sec, "r1", at3))
	h.Events = append(h.Events, analysistest.FailoverEvents(11750*ms, "r2", "r3", 2, 3)...)
	h.Faults = append(h.Faults, doing(harness.EndsProcess, "kill-primary", 11750*ms, 14*sec, "r2"))
	all := Failovers(h)
	require.Len(t, all, 2)
	require.Equal(t, Stage{Name: Rejoined, Note: "r1 never followed r2: next it followed r3"}, all[0].Stage(Rejoined))
	require.Equal(t, 15*sec, all[0].OldUntil)
	all[0].Stages[len(all[0].Stages)-1], all[0].OldUntil = first.Stage(Rejoined), first.OldUntil
	require.Equal(t, first, all[0])
	require.Equal(t, []time.Duration{1012 * ms, 1470 * ms},
		[]time.Duration{all[1].Stage(Suspect).After, all[1].Stage(Accepted).After})
	require.Equal(t, "r3 acknowledged no write of a client", all[1].Stage(Writable).Note)
}

func TestWhomTheOldPrimaryFollows(t *testing.T) {
	for _, c := range []struct {
		name string
		more []harness.Event
		want Stage
	}{
		{"at once", []harness.Event{follows(13500*ms, "r1", at2)},
			Stage{Seen: true, At: 13500 * ms, After: 3500 * ms, SeenBy: "r1"}},
		{"another node first", []harness.Event{follows(13400*ms, "r1", at3), follows(13550*ms, "r1", at2)},
			Stage{Seen: true, At: 13500 * ms, After: 3500 * ms, SeenBy: "r1"}},
		{"another node", []harness.Event{follows(13500*ms, "r1", at3)},
			Stage{Note: "r1 never followed r2: next it followed r3"}},
		{"nobody knows whom", []harness.Event{follows(13500*ms, "r1", "10.0.0.9 6379")},
			Stage{Note: "r1 never followed r2: next it followed 10.0.0.9 6379"}},
		{"after the next failover", append(analysistest.FailoverEvents(20*sec, "r2", "r3", 2, 3),
			follows(22*sec, "r1", at2)),
			Stage{Note: "r1 followed r2 only after the next failover"}},
		{"nobody", []harness.Event{follows(sec, "r2", at1)}, Stage{Note: "r1 was not seen as a replica"}},
	} {
		h := analysistest.OneKill()
		h.Events = append(append(h.Events, analysistest.Role(0, "r3", "slave")), c.more...)
		c.want.Name = Rejoined
		require.Equal(t, c.want, Failovers(h)[0].Stage(Rejoined), c.name)
	}
}

// TestASuspicionThatPassedIsNotTheStart has a primary that Sentinels missed for a moment, long before it is lost.
func TestASuspicionThatPassedIsNotTheStart(t *testing.T) {
	h := analysistest.OneKill()
	h.Faults[0] = doing(harness.EndsProcess, "kill", 10*sec, 13*sec, "r1")
	h.Faults = append(h.Faults, doing(harness.StopsProcess, "short pause", 3*sec, 4*sec+100*ms, "r1"))
	primary := "master mymaster " + at1
	h.Events = append(h.Events, event(4050*ms, "s1", "+sdown", primary), event(4060*ms, "s2", "+sdown", primary),
		event(4200*ms, "s1", "-sdown", primary), event(4210*ms, "s2", "-sdown", primary))
	f := Failovers(h)[0]
	require.Equal(t, "kill", f.Name)
	require.Equal(t, 1012*ms, f.Stage(Suspect).After)
}

// TestWhoIsHeardAgainTooLateIsReplaced has Sentinels that hear from the primary again when the failover has already
// begun.
func TestWhoIsHeardAgainTooLateIsReplaced(t *testing.T) {
	h := analysistest.OneKill()
	primary := "master mymaster " + at1
	h.Events = append(h.Events, event(11100*ms, "s2", "-sdown", primary), event(11101*ms, "s3", "-sdown", primary),
		event(11150*ms, "s2", "-odown", primary))
	h.Faults = nil
	f := Failovers(h)[0]
	require.Equal(t, []any{noCause, 11012 * ms}, []any{f.Name, f.Start})
	require.Equal(t, []time.Duration{0, 63 * ms, 71 * ms},
		[]time.Duration{f.Stage(Suspect).After, f.Stage(Agreed).After, f.Stage(Elected).After})
	require.True(t, f.Stage(Suspect).Seen)
}

func TestARecordThatStopsSaysSo(t *testing.T) {
	h := without(analysistest.OneKill(), func(e harness.Event) bool { return e.At > 11600*ms })
	h.End, h.Ops = nil, nil
	f := Failovers(h)[0]
	require.Equal(t, "not known: the record stops before the run did, and until then r1 was not seen as a replica",
		f.Stage(Rejoined).Note)
	require.Equal(t, "not known: the record stops before the run did, and until then r2 acknowledged no write of a "+
		"client", f.Stage(Writable).Note)
	require.True(t, f.Stage(Accepted).Seen)
}

func TestTimesOfAClockThatSteppedAreNotKnown(t *testing.T) {
	h := analysistest.OneKill()
	h.Events = append(h.Events, serves(10*sec, "r1", 1), serves(13*sec, "r2", 1))
	h.Ops = harness.OpsOf([]harness.Op{analysistest.Add(1, 11600*ms, harness.OK),
		analysistest.Add(0, 11700*ms, harness.OK)})
	f := Failovers(h)[0]
	require.Equal(t, []int64{1, 1}, []int64{f.ExecutedWrites, f.MinorityWrites})
	h.Events = append(h.Events, event(12*sec, "generator-2", harness.EventClockUntrusted, "it stepped"))
	f = Failovers(h)[0]
	require.Zero(t, f.ExecutedWrites+f.MinorityWrites, "who answered rests on the same times")
	require.Equal(t, Stage{Name: Writable, Note: "not known: the clock of generator-2 did not run as it was taken to"},
		f.Stage(Writable))
	require.False(t, f.Outage.Seen || f.Writes.Seen)
	require.True(t, f.Stage(Switched).Seen)
}

// TestRolesThatAreAskedForSeldomAreSeenLate has an external Redis, whose roles are recorded up to 250 ms late.
func TestRolesThatAreAskedForSeldomAreSeenLate(t *testing.T) {
	h := without(analysistest.OneKill(), func(e harness.Event) bool {
		return e.Kind == harness.EventServesWrites || e.Kind == harness.EventWritable || e.Kind == harness.EventRole &&
			e.At > 10*sec
	})
	h.Events = append(h.Events, serves(sec, "r1", 0), answers(sec, "r1", 0), serves(11600*ms, "r2", 0),
		answers(11600*ms, "r2", 0),
		analysistest.Role(11801*ms, "r2", "master"), analysistest.Role(13500*ms, "r1", "slave"))
	h.Ops = harness.OpsOf([]harness.Op{
		analysistest.Add(0, 9*sec, harness.OK), analysistest.Add(0, 10100*ms, harness.Fail),
		analysistest.Add(0, 11599*ms, harness.OK),
		analysistest.Refusal(0, 11602*ms), analysistest.Add(0, 12*sec, harness.OK),
	})
	require.Equal(t, 12001*ms, Failovers(h)[0].Stage(Writable).At,
		"it was seen as a replica by then, if it was asked every 20 ms")
	for _, node := range []string{"r1", "r2"} {
		h.Events = append(h.Events, event(ms, node, harness.EventRolesEvery, "250ms"))
	}
	f := Failovers(h)[0]
	require.Equal(t, 11600*ms, f.Stage(Writable).At)
	require.Equal(t, 11600*ms, f.Outage.To)
	found := []harness.Finding{{Class: harness.DoubleGrant, At: 11650 * ms, Count: 1}}
	two := []Failover{{Promoted: 5 * sec, extraDelay: f.extraDelay}, f}
	AssignLosses(two, found, []harness.Class{harness.DoubleGrant})
	require.Equal(t, 1, two[1].Losses[harness.DoubleGrant], "it followed the promotion, which was seen late")
}

// TestWhatTheNewPrimaryLacked compares the nodes' replication offsets. Offsets that r1 reports after its return do not
// count: by then it replicates another primary.
func TestWhatTheNewPrimaryLacked(t *testing.T) {
	offset := func(at time.Duration, node, bytes string) harness.Event {
		return event(at, node, harness.EventOffset, bytes)
	}
	h := analysistest.OneKill()
	require.Zero(t, Failovers(h)[0].MissingBytes, "of an older program")
	h.Events = append(h.Events, offset(5*sec, "r1", "7"), offset(10060*ms, "r1", "45120"),
		offset(11490*ms, "r2", "45000"), offset(13500*ms, "r1", "99999"))
	f := Failovers(h)[0]
	require.EqualValues(t, 120, f.MissingBytes)
	require.Equal(t, []string{"r2 lacked at least 120 bytes that r1 had written"}, f.Remarks())
	h.Events = append(h.Events, offset(10050*ms, "r1", "44000"))
	require.EqualValues(t, 120, Failovers(h)[0].MissingBytes, "what r1 told last counts")
	h.Events = append(h.Events, offset(10070*ms, "r1", "44900"))
	require.Zero(t, Failovers(h)[0].MissingBytes, "r2 had been sent more since r1 was asked last")

	h = analysistest.OneKill()
	h.Events = append(h.Events, offset(11490*ms, "r2", "45000"), offset(13500*ms, "r1", "99999"))
	require.Zero(t, Failovers(h)[0].MissingBytes, "r1 told it long after the promotion: it had written more since")
	h = analysistest.OneKill()
	h.Events = append(h.Events, offset(10060*ms, "r1", "45120"), offset(12*sec, "r2", "45000"))
	require.Zero(t, Failovers(h)[0].MissingBytes, "r2 told it long after its promotion")
}
