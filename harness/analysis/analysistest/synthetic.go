// Package analysistest makes histories and counterexamples for tests of figures and drawings.
package analysistest

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

// Synthetic returns a history of 20 s on a cluster with Sentinels. It has a partition with group 1 on the minority
// side, and a killed primary.
func Synthetic() harness.History {
	faults := []harness.Fault{
		{
			Name: "partition-primary", Effects: harness.CutsLinks, Targets: []string{"r1", "s1", "g1"},
			Groups: []int{1}, Start: 4 * sec, Active: 4*sec + 20*ms, Heal: 9 * sec, End: 10*sec + 200*ms, Proved: true,
			Proof: "PING r1 from group 0 timed out; r2 was promoted",
		},
		{
			Name: "kill-primary", Effects: harness.EndsProcess, Targets: []string{"r2"}, Start: 13 * sec,
			Active: 13*sec + 5*ms, Heal: 15*sec + 5*ms, End: 16*sec + 100*ms, Proved: true,
			Proof: "connect to r2 refused; r3 was promoted",
		},
	}
	events := append(Addressed(), Role(100*ms, "r1", harness.RolePrimary), Role(110*ms, "r2", harness.RoleReplica),
		Role(120*ms, "r3", harness.RoleReplica))
	for g := range 3 {
		events = append(events, harness.Event{At: ms, Node: "r1", Kind: harness.EventServesWrites,
			Detail: fmt.Sprintf("g%d", g)})
	}
	for _, e := range FailoverEvents(4*sec, "r1", "r2", 1, 2) {
		switch {
		// it is cut off and keeps running
		case e.Node == "r1" && (e.Kind == harness.EventUnwritable || e.Kind == harness.EventRole):
		case e.Kind == harness.EventServesWrites && e.Detail == "g1": // its clients stay with it
		default:
			events = append(events, e)
		}
	}
	events = append(events, harness.Event{At: 9*sec + 590*ms, Node: "r1", Kind: harness.EventUnwritable,
		Detail: "READONLY"}, Role(9*sec+600*ms, "r1", harness.RoleReplica))
	events = append(events, harness.Event{At: 9*sec + 610*ms, Node: "r2", Kind: harness.EventServesWrites,
		Detail: "g1"})
	events = append(events, FailoverEvents(13*sec, "r2", "r3", 2, 3)...)
	events = append(events, Role(15*sec+700*ms, "r2", harness.RoleReplica))
	return harness.History{
		Meta: harness.Meta{
			Name: "lock/set-nx-px sentinel partition+kill", Seed: 1234567890123, Workers: 24, Clients: 24, Groups: 3,
			Started: time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC), Drift: 0.01,
			Kinds: []harness.Kind{harness.Acquire, harness.Release},
			Labels: map[string]string{
				"variant": "lock/set-nx-px", "topology": "sentinel (3 redis, 3 sentinels)",
				"nemesis": "partition-primary, kill-primary",
			},
		},
		Ops: harness.OpsOf(syntheticOps()), Faults: faults, Events: events, End: &harness.End{At: 20*sec + 300*ms},
	}
}

// Role returns an event that reports the role of a node at t.
func Role(t time.Duration, node, role string) harness.Event {
	return harness.Event{At: t, Node: node, Kind: harness.EventRole, Detail: role}
}

// Addressed returns the events that hold the nodes' addresses, and the event that r1 accepts writes.
func Addressed() []harness.Event {
	all := []harness.Event{{At: ms, Node: "r1", Kind: harness.EventWritable}}
	for i := 1; i <= 3; i++ {
		all = append(all, harness.Event{At: ms, Node: fmt.Sprintf("s%d", i), Kind: harness.EventDownAfter,
			Detail: "1s"})
		all = append(all, harness.Event{At: ms, Node: fmt.Sprintf("r%d", i), Kind: harness.EventAddress,
			Detail: fmt.Sprintf("127.7.2.%d 6379", i)})
	}
	return all
}

// FailoverEvents returns the events of a failover, as Sentinels and the harness's polls record them. The parameter
// start is the time at which the old primary is lost. The parameters lost and promoted are the names of the old and the
// new primary. The parameters from and to are the numbers in which their addresses end.
func FailoverEvents(start time.Duration, lost, promoted string, from, to int) []harness.Event {
	address := func(i int) string { return fmt.Sprintf("127.7.2.%d 6379", i) }
	primary := "master mymaster " + address(from)
	change := "mymaster " + address(from) + " " + address(to)
	e := func(after time.Duration, node, kind, detail string) harness.Event {
		return harness.Event{At: start + after, Node: node, Kind: kind, Detail: detail}
	}
	return []harness.Event{
		e(2*ms, lost, harness.EventUnwritable, "no answer within 200ms"),
		e(60*ms, lost, harness.EventRole, harness.RoleDown),
		e(1012*ms, "s2", "+sdown", primary), e(1043*ms, "s3", "+sdown", primary), e(1075*ms, "s2", "+odown", primary),
		e(1076*ms, "s2", "+new-epoch", "1"), e(1076*ms, "s2", "+try-failover", primary),
		e(1081*ms, "s3", "+vote-for-leader", "5f2a 1"), e(1083*ms, "s2", "+elected-leader", primary),
		e(1084*ms, "s2", "+failover-state-select-slave", primary),
		e(1147*ms, "s2", "+selected-slave", "slave "+address(to)),
		e(1470*ms, promoted, harness.EventWritable, ""), e(1490*ms, promoted, harness.EventRole, harness.RolePrimary),
		e(1512*ms, "s2", "+promoted-slave", "slave "+address(to)),
		e(1512*ms, "s2", "+failover-state-reconf-slaves", primary), e(1590*ms, "s2", "+switch-master", change),
		e(1604*ms, "s3", "+switch-master", change), e(1605*ms, "s3", "+convert-to-slave", "slave "+address(from)),
		e(1620*ms, promoted, harness.EventServesWrites, "g0"), e(1621*ms, promoted, harness.EventServesWrites, "g2"),
		e(1622*ms, promoted, harness.EventServesWrites, "g1"),
	}
}

// syntheticOps returns about 40,000 lock operations of 24 workers, ordered by Return.
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
		Client: client, Kind: harness.Acquire, Key: fmt.Sprintf("lock:%d", n%40), Arg: fmt.Sprintf("c%d-%d", client, n),
		TTL: 2 * sec, Call: t, Return: t + took, Outcome: harness.OK,
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

// Kills returns a history with n kills, 10 s apart, each followed by a failover. One of 4 clients writes every 10
// ms. During failovers the writes fail.
func Kills(n int) harness.History {
	h := harness.History{Meta: harness.Meta{Name: fmt.Sprint(n, " kills"), Workers: 4, Clients: 4, Groups: 1,
		Labels: map[string]string{"variant": "sequence/incr-wait", "nemesis": "kill-primary"}}}
	h.Events = append(Addressed(), Role(ms, "r1", harness.RolePrimary), Role(ms, "r2", harness.RoleReplica))
	var ops []harness.Op
	at := time.Duration(0)
	write := func(until time.Duration, outcome harness.Outcome, err string) {
		for ; at < until; at += 10 * ms {
			ops = append(ops, harness.Op{Client: len(ops) % 4, Kind: harness.Add, Key: "set", Arg: fmt.Sprint(len(ops)),
				Call: at, Return: at + ms, Outcome: outcome, Err: err})
		}
	}
	for i := range n {
		start := time.Duration(i)*10*sec + 3*sec
		old, now := 1+i%2, 2-i%2
		write(start, harness.OK, "")
		write(start+1700*ms+time.Duration(i)*37*ms, harness.Fail,
			"dial tcp 127.7.2.1:6379: connect: connection refused")
		h.Faults = append(h.Faults, harness.Fault{Name: "kill-primary", Effects: harness.EndsProcess,
			Targets: []string{fmt.Sprint("r", old)}, Start: start, Active: start + 5*ms, Heal: start + 3*sec,
			End: start + 4*sec, Proved: true, Proof: "gone"})
		h.Events = append(h.Events, FailoverEvents(start, fmt.Sprint("r", old), fmt.Sprint("r", now), old, now)...)
		h.Events = append(h.Events, Role(start+3500*ms, fmt.Sprint("r", old), harness.RoleReplica))
		write(start+7*sec, harness.OK, "")
	}
	h.Ops, h.End = harness.OpsOf(ops), &harness.End{At: at}
	return h
}

// FaultOf returns a fault that is active 5 ms after its start and takes half a second to heal.
func FaultOf(name string, start, heal time.Duration, targets ...string) harness.Fault {
	return harness.Fault{Name: name, Targets: targets, Start: start, Active: start + 5*ms, Heal: heal,
		End: heal + 500*ms, Proved: true}
}

// OneKill returns a history with one killed primary, which tests can change.
func OneKill() harness.History {
	events := append(append(Addressed(), Role(0, "r1", harness.RolePrimary), Role(0, "r2", harness.RoleReplica)),
		FailoverEvents(10*sec, "r1", "r2", 1, 2)...)
	return harness.History{
		Meta: harness.Meta{Workers: 4, Groups: 2},
		Faults: []harness.Fault{{Name: "kill-primary", Targets: []string{"r1"}, Start: 10 * sec, Active: 10*sec + 5*ms,
			Heal: 13 * sec, End: 14 * sec}},
		Events: append(events, Role(13500*ms, "r1", harness.RoleReplica)), End: &harness.End{At: 20 * sec},
		Ops: harness.OpsOf([]harness.Op{
			Add(0, 9*sec, harness.OK), Add(1, 9990*ms, harness.OK),
			Refusal(0, 9995*ms), Add(0, 10100*ms, harness.Fail), Add(1, 10200*ms, harness.Info),
			Add(5, 11*sec, harness.Fail), Add(0, 11700*ms, harness.OK), Add(0, 12*sec, harness.Fail),
		}),
	}
}

// Add returns an operation that adds to a set and takes a millisecond.
func Add(client int, call time.Duration, outcome harness.Outcome) harness.Op {
	return harness.Op{Client: client, Kind: harness.Add, Call: call, Return: call + ms, Outcome: outcome}
}

// Refusal returns an acquire that is refused because another client has the lock.
func Refusal(client int, call time.Duration) harness.Op {
	op := Add(client, call, harness.Fail)
	op.Kind, op.Err = harness.Acquire, harness.Held
	return op
}
