package reports

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// synthetic is a history of 20 s as a run with Sentinels leaves it: a partition with group 1 on the minority side, and
// a killed primary.
func synthetic() harness.History {
	faults := []harness.Fault{
		{
			Name: "partition-primary", Targets: []string{"r1"}, Groups: []int{1}, Start: 4 * sec, Bit: 4*sec + 20*ms,
			Heal: 9 * sec, End: 10*sec + 200*ms, Proved: true, Proof: "PING r1 from group 0 timed out; r2 was promoted",
		},
		{
			Name: "kill-primary", Targets: []string{"r2"}, Start: 13 * sec, Bit: 13*sec + 5*ms,
			Heal: 15*sec + 5*ms, End: 16*sec + 100*ms, Proved: true, Proof: "connect to r2 refused; r3 was promoted",
		},
	}
	events := append(addressed(), role(100*ms, "r1", "master"), role(110*ms, "r2", "slave"), role(120*ms, "r3", "slave"))
	events = append(events, failoverEvents(4*sec, "r1", "r2", 1, 2)...)
	events = append(events, role(9*sec+600*ms, "r1", "slave"))
	events = append(events, failoverEvents(13*sec, "r2", "r3", 2, 3)...)
	events = append(events, role(15*sec+700*ms, "r2", "slave"))
	return harness.History{
		Meta: harness.Meta{
			Name: "lock/set-nx-px sentinel partition+kill", Seed: 1234567890123, Workers: 24, Clients: 24, Groups: 3,
			Started: time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC), Drift: 0.01, Kinds: []harness.Kind{harness.Acquire, harness.Release},
			Labels: map[string]string{
				"variant": "lock/set-nx-px", "topology": "sentinel (3 redis, 3 sentinels)", "nemesis": "partition-primary, kill-primary",
			},
		},
		Ops: harness.OpsOf(syntheticOps()), Faults: faults, Events: events, End: &harness.End{At: 20*sec + 300*ms},
	}
}

func role(t time.Duration, node, now string) harness.Event {
	return harness.Event{At: t, Node: node, Kind: "role", Detail: now}
}

// addressed says under which addresses Sentinels speak of the nodes, and that the first one takes writes.
func addressed() []harness.Event {
	all := []harness.Event{{At: ms, Node: "r1", Kind: harness.EventWritable}}
	for i := 1; i <= 3; i++ {
		all = append(all, harness.Event{At: ms, Node: fmt.Sprintf("r%d", i), Kind: harness.EventAddress, Detail: fmt.Sprintf("127.7.2.%d 6379", i)})
	}
	return all
}

// failoverEvents is what Sentinels and polls say when the primary is lost at start.
func failoverEvents(start time.Duration, old, now string, from, to int) []harness.Event {
	address := func(i int) string { return fmt.Sprintf("127.7.2.%d 6379", i) }
	primary := "master mymaster " + address(from)
	change := "mymaster " + address(from) + " " + address(to)
	e := func(after time.Duration, node, kind, detail string) harness.Event {
		return harness.Event{At: start + after, Node: node, Kind: kind, Detail: detail}
	}
	return []harness.Event{
		e(2*ms, old, harness.EventUnwritable, "no answer within 200ms"), e(60*ms, old, "role", "down"),
		e(1012*ms, "s2", "+sdown", primary), e(1043*ms, "s3", "+sdown", primary), e(1075*ms, "s2", "+odown", primary),
		e(1076*ms, "s2", "+new-epoch", "1"), e(1076*ms, "s2", "+try-failover", primary),
		e(1081*ms, "s3", "+vote-for-leader", "5f2a 1"), e(1083*ms, "s2", "+elected-leader", primary),
		e(1084*ms, "s2", "+failover-state-select-slave", primary), e(1147*ms, "s2", "+selected-slave", "slave "+address(to)),
		e(1470*ms, now, harness.EventWritable, ""), e(1490*ms, now, "role", "master"), e(1512*ms, "s2", "+promoted-slave", "slave "+address(to)),
		e(1512*ms, "s2", "+failover-state-reconf-slaves", primary), e(1590*ms, "s2", "+switch-master", change),
		e(1604*ms, "s3", "+switch-master", change), e(1605*ms, "s3", "+convert-to-slave", "slave "+address(from)),
		e(1620*ms, now, harness.EventServes, "g0"), e(1621*ms, now, harness.EventServes, "g2"), e(1622*ms, now, harness.EventServes, "g1"),
	}
}

// syntheticOps are about 40,000 operations of 24 workers on locks, in order of Return.
func syntheticOps() []harness.Op {
	rng := rand.New(rand.NewPCG(1, 2))
	var ops []harness.Op
	for w := range 24 {
		id, t := w, 500*ms+time.Duration(w)*ms
		for n := 0; t < 20*sec; n++ {
			op := syntheticOp(rng, id, w%3, n, t)
			ops = append(ops, op)
			t = op.Return + time.Duration(rng.ExpFloat64()*float64(9*ms))
			if op.Outcome == harness.Info {
				id += 24
			}
		}
	}
	slices.SortStableFunc(ops, func(a, b harness.Op) int { return cmp.Compare(a.Return, b.Return) })
	return ops
}

func syntheticOp(rng *rand.Rand, client, group, n int, t time.Duration) harness.Op {
	took := time.Duration(math.Exp(rng.NormFloat64()*0.5) * float64(400*time.Microsecond))
	op := harness.Op{
		Client: client, Kind: harness.Acquire, Key: fmt.Sprintf("lock:%d", n%40), Arg: fmt.Sprintf("c%d-%d", client, n), TTL: 2 * sec,
		Call: t, Return: t + took, Outcome: harness.OK,
	}
	switch {
	case t > 4*sec && t < 5*sec+620*ms && group != 1, t > 9*sec && t < 9*sec+300*ms && group == 1:
		op.Return, op.Outcome, op.Err = t+300*ms, harness.Info, "timeout"
	case t > 13*sec && t < 14*sec+640*ms:
		op.Return, op.Outcome, op.Err = t+took+20*ms, harness.Fail, "connection refused"
	case t > 14*sec+640*ms && t < 14*sec+700*ms:
		op.Outcome, op.Err = harness.Fail, "READONLY"
	case n%3 == 0:
		op.Outcome, op.Err = harness.Fail, harness.Held
	case n%3 == 1:
		op.Kind, op.TTL = harness.Release, 0
	}
	return op
}

// doubleGrant is the evidence of two clients that hold one lock across the partition.
func doubleGrant(key string, start time.Duration) harness.Anomaly {
	return harness.Anomaly{
		Class: harness.DoubleGrant, Key: key, Certified: true, From: start, To: start + 1480*ms,
		Faults: []string{"partition-primary"},
		Note:   fmt.Sprintf("%s was granted to client 7 and, 1.21 s later and inside its lease, to client 12", key),
		Ops: []harness.Op{
			acquire(7, key, start, 600*time.Microsecond),
			{Client: 15, Kind: harness.Acquire, Key: key, Arg: "c15-9", TTL: 2 * sec, Call: start + 300*ms, Return: start + 301*ms, Outcome: harness.Fail, Err: harness.Held},
			{Client: 9, Kind: harness.Acquire, Key: key, Arg: "c9-3", TTL: 2 * sec, Call: start + 600*ms, Return: start + 900*ms, Err: "timeout"},
			acquire(12, key, start+1210*ms, 800*time.Microsecond),
			{Client: 7, Kind: harness.Release, Key: key, Arg: "c7-1", Call: start + 1480*ms, Return: start + 1481*ms, Outcome: harness.OK},
		},
		Spans: []harness.Span{
			{Client: 7, Owner: 0, From: start + 600*time.Microsecond, To: start + 1480*ms, Until: harness.OwnRelease},
			{Client: 12, Owner: 1, From: start + 1210*ms + 800*time.Microsecond, To: start + 3190*ms, Until: harness.LeaseEnds},
		},
	}
}

func acquire(client int, key string, t, took time.Duration) harness.Op {
	return harness.Op{
		Client: client, Kind: harness.Acquire, Key: key, Arg: fmt.Sprintf("c%d-1", client), TTL: 2 * sec,
		Call: t, Return: t + took, Outcome: harness.OK,
	}
}

// duplicateNumber is the evidence of one number that was issued twice.
func duplicateNumber() harness.Anomaly {
	next := func(client int, t time.Duration, result string) harness.Op {
		return harness.Op{Client: client, Kind: harness.Next, Key: "orders", Arg: "23", Result: result, Call: t, Return: t + 310*time.Microsecond, Outcome: harness.OK}
	}
	return harness.Anomaly{
		Class: harness.DuplicateNumber, Key: "orders", From: 7 * sec, To: 7*sec + ms, Note: "23 was returned to client 1 and, 79 calls later, to client 2",
		Ops: []harness.Op{next(1, 7*sec, "23"), next(2, 7*sec+700*time.Microsecond, "23")},
	}
}

// stolen is the evidence of a double grant that a late release opened.
func stolen() harness.Anomaly {
	const key = "lock:17"
	a := harness.Anomaly{Class: harness.StolenRelease, Key: key, From: 11 * sec, To: 13*sec + 400*ms, Note: "client 3 released lock:17 after its lease had ended, when client 4 had it; client 5 was granted it inside client 4's lease"}
	a.Ops = []harness.Op{
		acquire(3, key, 11*sec, ms), acquire(4, key, 13*sec+5*ms, ms),
		{Client: 3, Kind: harness.Release, Key: key, Arg: "c3-1", Call: 13*sec + 200*ms, Return: 13*sec + 201*ms, Outcome: harness.OK},
		acquire(5, key, 13*sec+210*ms, ms),
	}
	return a
}

func invalid() harness.Judged {
	j := harness.Judged{
		Verdict: harness.Invalid, Certified: 190,
		Totals: map[harness.Class]int{harness.DoubleGrant: 194, harness.StolenRelease: 3, harness.DuplicateNumber: 1},
		Judgements: []harness.Judgement{
			{Checker: "lock", Verdict: harness.Invalid, Reason: "two owners held one lock 194 times", Figures: []harness.Figure{
				{Name: "grants", Value: 12873}, {Name: "contended keys", Value: 40}, {Name: "longest overlap", Value: 1.482, Unit: "s"}}},
			{Checker: "porcupine", Verdict: harness.Valid, Reason: "porcupine agreed on 38 of 38 keys that fit its budget", Figures: []harness.Figure{{Name: "keys", Value: 38}}},
			{Checker: "liveness", Verdict: harness.Unknown, Reason: "no client crashed while it held a lock, so nothing shows that a lock comes free"},
		},
	}
	j.Anomalies = []harness.Anomaly{doubleGrant("lock:4", 4*sec+700*ms), duplicateNumber(), stolen()}
	for i := range 7 {
		j.Anomalies = append(j.Anomalies, doubleGrant(fmt.Sprintf("lock:%d", 20+i), 6*sec+time.Duration(i)*100*ms))
	}
	return j
}

func valid() harness.Judged {
	return harness.Judged{
		Verdict: harness.Valid, Totals: map[harness.Class]int{},
		Judgements: []harness.Judgement{{Checker: "lock", Verdict: harness.Valid, Reason: "no two owners in 12,873 grants"}},
	}
}
