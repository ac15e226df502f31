package reports

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// play builds a counterexample as the explorer would leave it: a millisecond a step, an operation from its first command
// to half a millisecond after its last. Clients count from 1.
type play struct {
	interleave.Counterexample
	now   time.Duration
	began map[int]time.Duration
}

func newPlay() *play { return &play{began: map[int]time.Duration{}} }

// does is a step of a client that ends no operation.
func (p *play) does(client int, command, reply string) {
	p.step(interleave.Run(client-1), client, command, reply)
	if _, ok := p.began[client]; !ok {
		p.began[client] = p.now
	}
}

// ends is a step of a client that ends an operation. What fails ends in op.Err.
func (p *play) ends(client int, command, reply, belief string, op harness.Op) harness.Op {
	p.does(client, command, reply)
	p.last().Belief = belief
	op.Client, op.Call, op.Return, op.Outcome = client, p.began[client], p.now+ms/2, harness.OK
	if op.Err != "" {
		op.Outcome = harness.Fail
	}
	delete(p.began, client)
	p.Ops = append(p.Ops, op)
	return op
}

func (p *play) crashes(client int) { p.step(interleave.Crash(client-1), client, "crashes", "") }

func (p *play) world(c interleave.Choice, command string) {
	p.step(c, 0, command, "")
	if c.IsTime() {
		p.now += 10 * sec
	}
}

// probes is an operation of the harness after the last step.
func (p *play) probes(command, reply, belief string, op harness.Op) harness.Op {
	p.step(interleave.Probe, 0, command, reply)
	p.last().Belief = belief
	op.Client, op.Call, op.Return = harness.HarnessClient, p.now, p.now
	p.Ops = append(p.Ops, op)
	return op
}

func (p *play) step(c interleave.Choice, client int, command, reply string) {
	p.now = p.now.Truncate(ms) + ms
	p.Steps = append(p.Steps, interleave.Step{
		Number: len(p.Steps) + 1, At: p.now, Client: client, Choice: c, Command: command, Reply: reply,
	})
	if c != interleave.Probe {
		p.Schedule = append(p.Schedule, c)
	}
}

func (p *play) last() *interleave.Step { return &p.Steps[len(p.Steps)-1] }

// shows ends the counterexample with what it shows. Checkers count clients from 0.
func (p *play) shows(class harness.Class, key, note string, ops ...harness.Op) interleave.Counterexample {
	p.Anomaly = harness.Anomaly{Class: class, Key: key, Note: note, Ops: ops, From: ops[0].Call, To: p.now}
	return p.Counterexample
}

func lockOp(kind harness.Kind, err string) harness.Op {
	op := harness.Op{Kind: kind, Key: "lock", Err: err}
	if kind != harness.Release {
		op.TTL = 10 * sec
	}
	return op
}

func claim(result string) harness.Op {
	return harness.Op{Kind: harness.Claim, Key: "msg", Result: result, TTL: 20 * sec}
}

// dedupRace is GET GET SET SET EXPIRE EXPIRE: the race of every filter that looks before it marks.
func dedupRace() interleave.Counterexample {
	p := newPlay()
	p.does(1, "GET msg", "(nil)")
	p.does(2, "GET msg", "(nil)")
	p.does(1, "SET msg 1", "OK")
	a := p.ends(1, "EXPIRE msg 20", "1", "is the first: has to deliver msg", claim(harness.ResultFirst))
	p.does(2, "SET msg 1", "OK")
	b := p.ends(2, "EXPIRE msg 20", "1", "is the first: has to deliver msg", claim(harness.ResultFirst))
	p.ends(3, "GET msg", "1", "somebody else has msg", claim(harness.ResultSeen))
	return p.shows(harness.DuplicateDelivery, "msg",
		"clients 1 and 2 were both told that msg is new, at 0.0045 s and at 0.0065 s, inside its window of 20 s", a, b)
}

// immortal is a crash between SET and EXPIRE.
func immortal() interleave.Counterexample {
	p := newPlay()
	p.does(1, "GET msg", "(nil)")
	p.does(1, "SET msg 1", "OK")
	p.crashes(1)
	p.world(interleave.Pass(0), "10s pass")
	b := p.ends(2, "GET msg", "1", "somebody else has msg", claim(harness.ResultSeen))
	return p.shows(harness.ImmortalMark, "msg", "msg is marked without an end, and client 2 still saw it 10 s later", b)
}

// blindDel is a late DEL that takes the lock from its next owner.
func blindDel() interleave.Counterexample {
	p := newPlay()
	p.ends(1, "SET lock client-1-1 NX PX 10000", "OK", "holds lock until 10.001s", lockOp(harness.Acquire, ""))
	p.ends(3, "SET lock client-3-1 NX PX 10000", "(nil)", "lock is somebody else's", lockOp(harness.Acquire, harness.Held))
	p.world(interleave.Pass(0), "10.001s pass: lock expires")
	b := p.ends(2, "SET lock client-2-1 NX PX 10000", "OK", "holds lock until 20.004s", lockOp(harness.Acquire, ""))
	c := p.ends(1, "DEL lock", "1", "has given lock up", lockOp(harness.Release, ""))
	d := p.ends(3, "SET lock client-3-2 NX PX 10000", "OK", "holds lock until 20.006s", lockOp(harness.Acquire, ""))
	p.ends(2, "DEL lock", "1", "has given lock up", lockOp(harness.Release, ""))
	return p.shows(harness.StolenRelease, "lock", "client 3 was granted lock by 10.0065 s, while client 2 certainly held it from "+
		"10.0045 s until 10.0070 s; client 1, granted it at 0.0015 s, had it removed by a release from 10.0050 s to 10.0055 s", b, c, d)
}

// stuck is a crash between SETNX and EXPIRE.
func stuck() interleave.Counterexample {
	p := newPlay()
	p.does(1, "SETNX lock 0-1", "1")
	p.crashes(1)
	p.ends(2, "SETNX lock 1-1", "0", "lock is somebody else's", lockOp(harness.Acquire, harness.Held))
	p.world(interleave.Pass(0), "10s pass")
	last := p.probes("acquire lock", "fail held", "nobody holds it, and nobody can have it", lockOp(harness.Acquire, harness.Held))
	last.Outcome = harness.Fail
	p.Ops[len(p.Ops)-1] = last
	return p.shows(harness.StuckLock, "lock", "nobody holds lock, and after every lease is over it is still refused", last)
}

// lostGrant is a grant that a promoted replica never heard of.
func lostGrant() interleave.Counterexample {
	p := newPlay()
	p.world(interleave.HoldReplication, "replication stops: the replica hears nothing from here on")
	a := p.ends(1, "SET lock 0-1 NX PX 10000", "OK", "holds lock until 10.002s", lockOp(harness.Acquire, ""))
	p.world(interleave.Promote, "the replica becomes the primary, without what it did not hear")
	p.does(2, "EVALSHA {take the lock for ARGV[2] milliseconds unless so} lock:orders:2026-11-21 client-2-0000000000000017 10000",
		"(error) NOSCRIPT No matching script. Please use EVAL.")
	b := p.ends(2, "EVAL {take the lock for ARGV[2] milliseconds unless so} lock:orders:2026-11-21 client-2-0000000000000017 10000", "1",
		"holds lock until 10.004s", lockOp(harness.Acquire, ""))
	p.does(3, "", "")
	p.does(4, "waits 5ms", "")
	p.ends(4, "SET lock 3-1 NX PX 10000", "(nil)", "lock is somebody else's", lockOp(harness.Acquire, harness.Held))
	p.ends(1, "PEXPIRE lock 10000", "1", "holds lock until 10.009s", lockOp(harness.Extend, ""))
	p.ends(1, "EVALSHA {delete the lock if it is ours} lock 0-1", "0", "lock was not its own any more", lockOp(harness.Release, "not mine"))
	return p.shows(harness.DoubleGrant, "lock",
		"client 2 was granted lock by 0.0055 s, while client 1 certainly held it from 0.0025 s until 0.0100 s", a, b)
}

// searches are explorations of every sort.
func searches() map[string]Exploration {
	budget := interleave.Budget{Clients: 3, Crashes: 1, Expiries: 1}
	found := func(all ...interleave.Counterexample) interleave.Result {
		return interleave.Result{
			Schedules: 702, Pruned: 318, Steps: 5410, Exhausted: true, First: 800 * time.Microsecond, Elapsed: 66 * ms, Budget: budget, Found: all,
		}
	}
	race := Exploration{
		Name: "dedup/get-set", Variant: "dedup/get-set", Command: "doublegrant explore dedup/get-set --clients 3",
		Labels: map[string]string{"variant": "dedup/get-set", "lease": "20 s"}, Doc: "GET; if absent SET, EXPIRE, deliver",
		Source: "Atomic operations by Lua (article), plan one", Clients: 3, Result: found(immortal(), dedupRace()),
		Files:    map[int]string{0: "anomalies/immortal-mark.json", 1: "anomalies/duplicate-delivery.json"},
		Expected: "duplicate-delivery", Met: true, Started: time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC),
	}
	four := Exploration{Variant: "lock/set-nx-px", Command: "doublegrant explore lock/set-nx-px --failovers 1", Clients: 4, Result: found(lostGrant())}
	four.Result.Budget = interleave.Budget{Clients: 4, Crashes: 1, Expiries: 1, Failovers: 1, Flushes: 1}
	return map[string]Exploration{
		"race":     race,
		"blind":    {Variant: "lock/set-nx-px-blind-del", Clients: 3, Result: found(blindDel()), Expected: "double-grant"},
		"stuck":    {Variant: "lock/setnx-expire", Clients: 2, Result: found(stuck()), Files: map[int]string{0: "anomalies/stuck-lock.json"}},
		"failover": four,
		"exhausted": {Variant: "lock/set-nx-px", Clients: 3, Labels: map[string]string{"regime": "fixed"}, Result: interleave.Result{
			Schedules: 5040, Steps: 61200, Exhausted: true, Elapsed: 480 * ms, Budget: budget}},
		"budget": {Variant: "sequence/incr", Clients: 4, Result: interleave.Result{
			Schedules: 120000, Steps: 1900000, Stopped: "budget reached", Elapsed: 10 * sec, Budget: interleave.Budget{Clients: 4}}},
		"evil":  evilSearch(),
		"empty": {},
	}
}

// evilSearch is an exploration in which every text that comes from outside tries to break out.
func evilSearch() Exploration {
	const evil = `</title></text></svg><script>alert(1)</script>"'&|` + "```\n# @team" + `onload=x` + "\x00\x1b[31m\u202e"
	p := newPlay()
	op := p.ends(1, "SET "+evil, evil, evil, harness.Op{Kind: harness.Acquire, Key: evil, TTL: sec})
	p.ends(2, "EVAL "+evil+evil+evil, evil+evil, evil, harness.Op{Kind: harness.Acquire, Key: evil, TTL: sec})
	p.step(interleave.Run(98), 99, evil, evil)
	p.step(interleave.Choice(255), -4, evil, evil)
	p.world(interleave.FlushScripts, evil)
	p.crashes(2)
	p.probes(evil, evil, evil, op)
	for range 100 {
		p.does(1, evil, "")
	}
	c := p.shows(harness.Class(evil), evil, evil+" clients 0 and 99999999999999999999", op, harness.Op{Client: 77})
	return Exploration{
		Name: evil, Variant: evil, Command: evil, Labels: map[string]string{evil: evil, "regime": evil}, Doc: evil, Source: evil, Clients: 2,
		Result: interleave.Result{Found: []interleave.Counterexample{c}, Stopped: evil}, Expected: evil,
		Files: map[int]string{0: `javascript:alert(1)//"><script>alert(2)</script>`},
	}
}
