package analysistest

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Play builds a counterexample as the explorer would. Each step takes a millisecond. An operation lasts from its first
// command until half a millisecond after its last command. Clients are numbered from 1.
type Play struct {
	interleave.Counterexample
	Now   time.Duration // time of the last step
	began map[int]time.Duration
	spans []harness.Span // the spans that are part of the anomaly
}

// NewPlay returns a Play without steps.
func NewPlay() *Play { return &Play{began: map[int]time.Duration{}} }

// Does adds a step of a client whose operation goes on after the step.
func (p *Play) Does(client int, command, reply string) {
	p.Step(interleave.Run(client-1), client, command, reply)
	if _, ok := p.began[client]; !ok {
		p.began[client] = p.Now
	}
}

// Ends adds the last step of a client's operation. The parameter belief is what the client believes after that step,
// such as that it holds the lock. If op.Err is set, the operation failed.
func (p *Play) Ends(client int, command, reply, belief string, op harness.Op) harness.Op {
	p.Does(client, command, reply)
	p.Last().Belief = belief
	op.Client, op.Call, op.Return, op.Outcome = client, p.began[client], p.Now+ms/2, harness.OK
	if op.Err != "" {
		op.Outcome = harness.Fail
	}
	delete(p.began, client)
	p.Ops = append(p.Ops, op)
	return op
}

// Crashes adds the crash of a client.
func (p *Play) Crashes(client int) { p.Step(interleave.Crash(client-1), client, "crashes", "") }

// World adds a step that no client takes. If the step lets time pass, World moves Now on by 10 s.
func (p *Play) World(c interleave.Choice, command string) {
	p.Step(c, 0, command, "")
	if c.IsTime() {
		p.Now += 10 * sec
	}
}

// Probes adds an operation of the harness after the last step.
func (p *Play) Probes(command, reply, belief string, op harness.Op) harness.Op {
	p.Step(interleave.Probe, 0, command, reply)
	p.Last().Belief = belief
	op.Client, op.Call, op.Return = harness.HarnessClient, p.Now, p.Now
	p.Ops = append(p.Ops, op)
	return op
}

// Step adds any step, a millisecond after the previous step.
func (p *Play) Step(c interleave.Choice, client int, command, reply string) {
	p.Now = p.Now.Truncate(ms) + ms
	p.Steps = append(p.Steps, interleave.Step{
		Number: len(p.Steps) + 1, At: p.Now, Client: client, Choice: c, Command: command, Reply: reply,
	})
	if c != interleave.Probe {
		p.Schedule = append(p.Schedule, c)
	}
}

// Last returns the last step.
func (p *Play) Last() *interleave.Step { return &p.Steps[len(p.Steps)-1] }

// holds adds to the anomaly the span in which op's client certainly holds the lock.
func (p *Play) holds(op harness.Op, owner int, to time.Duration, until harness.SpanEnd) {
	p.spans = append(p.spans, harness.Span{Client: op.Client, Owner: owner, From: op.Return, To: to, Until: until})
}

// Shows adds the anomaly that ops show, and returns the complete counterexample.
func (p *Play) Shows(class harness.Class, key, note string, ops ...harness.Op) interleave.Counterexample {
	p.Anomaly = harness.Anomaly{Class: class, Key: key, Note: note, Ops: ops, From: ops[0].Call, To: p.Now,
		Spans: p.spans}
	return p.Counterexample
}

// LockOp returns an operation on the key "lock", with a lease of 10 s unless it is a release.
func LockOp(kind harness.Kind, err string) harness.Op {
	op := harness.Op{Kind: kind, Key: "lock", Err: err}
	if kind != harness.Release {
		op.TTL = 10 * sec
	}
	return op
}

// Claim returns a claim of the message "msg" with the given result.
func Claim(result string) harness.Op {
	return harness.Op{Kind: harness.Claim, Key: "msg", Result: result, TTL: 20 * sec}
}

// DedupRace returns the race of two clients of a filter that reads before it marks: GET GET SET SET EXPIRE EXPIRE.
func DedupRace() interleave.Counterexample {
	p := NewPlay()
	p.Does(1, "GET msg", "(nil)")
	p.Does(2, "GET msg", "(nil)")
	p.Does(1, "SET msg 1", "OK")
	a := p.Ends(1, "EXPIRE msg 20", "1", "is the first: has to deliver msg", Claim(harness.ResultFirst))
	p.Does(2, "SET msg 1", "OK")
	b := p.Ends(2, "EXPIRE msg 20", "1", "is the first: has to deliver msg", Claim(harness.ResultFirst))
	p.Ends(3, "GET msg", "1", "somebody else has msg", Claim(harness.ResultSeen))
	return p.Shows(harness.DuplicateDelivery, "msg",
		"clients 1 and 2 were both told that msg is new, at 0.0045 s and at 0.0065 s, inside its window of 20 s", a, b)
}

// Immortal returns a counterexample with a message that stays marked, since a client crashed between SET and EXPIRE.
func Immortal() interleave.Counterexample {
	p := NewPlay()
	p.Does(1, "GET msg", "(nil)")
	p.Does(1, "SET msg 1", "OK")
	p.Crashes(1)
	p.World(interleave.Pass(0), "10s pass")
	b := p.Ends(2, "GET msg", "1", "somebody else has msg", Claim(harness.ResultSeen))
	return p.Shows(harness.ImmortalMark, "msg", "msg is marked without an end, and client 2 still saw it 10 s later", b)
}

// BlindDel returns a counterexample with a late DEL that removes the next owner's lock.
func BlindDel() interleave.Counterexample {
	p := NewPlay()
	p.Ends(1, "SET lock client-1-1 NX PX 10000", "OK", "holds lock until 10.001s", LockOp(harness.Acquire, ""))
	p.Ends(3, "SET lock client-3-1 NX PX 10000", "(nil)", "lock is somebody else's",
		LockOp(harness.Acquire, harness.Held))
	p.World(interleave.Pass(0), "10.001s pass: lock expires")
	b := p.Ends(2, "SET lock client-2-1 NX PX 10000", "OK", "holds lock until 20.004s", LockOp(harness.Acquire, ""))
	c := p.Ends(1, "DEL lock", "1", "has given lock up", LockOp(harness.Release, ""))
	d := p.Ends(3, "SET lock client-3-2 NX PX 10000", "OK", "holds lock until 20.006s", LockOp(harness.Acquire, ""))
	e := p.Ends(2, "DEL lock", "1", "has given lock up", LockOp(harness.Release, ""))
	p.holds(b, 0, e.Call, harness.OwnRelease)
	p.holds(d, 1, d.Call+d.TTL, harness.LeaseEnds)
	return p.Shows(harness.StolenRelease, "lock",
		"client 3 was granted lock by 10.0065 s, while client 2 certainly held it from "+
			"10.0045 s until 10.0070 s; client 1, which was granted it at 0.0015 s, may have removed it by a release "+
			"from 10.0050 s to 10.0055 s", b, c, d)
}

// Stuck returns a counterexample with a lock that is never free again, since a client crashed between SETNX and EXPIRE.
func Stuck() interleave.Counterexample {
	p := NewPlay()
	p.Does(1, "SETNX lock 0-1", "1")
	p.Crashes(1)
	p.Ends(2, "SETNX lock 1-1", "0", "lock is somebody else's", LockOp(harness.Acquire, harness.Held))
	p.World(interleave.Pass(0), "10s pass")
	last := p.Probes("acquire lock", "fail held", "nobody holds it, and nobody can have it",
		LockOp(harness.Acquire, harness.Held))
	last.Outcome = harness.Fail
	p.Ops[len(p.Ops)-1] = last
	return p.Shows(harness.StuckLock, "lock", "nobody holds lock, and after every lease is over it is still refused",
		last)
}

// LostGrant returns a double grant after the promotion of a replica that had not received the first grant.
func LostGrant() interleave.Counterexample {
	p := NewPlay()
	p.World(interleave.StopReplication, "replication stops: the replica hears nothing from here on")
	a := p.Ends(1, "SET lock 0-1 NX PX 10000", "OK", "holds lock until 10.002s", LockOp(harness.Acquire, ""))
	p.World(interleave.Promote, "the replica becomes the primary, without what it did not hear")
	p.Does(2, "EVALSHA {take the lock for ARGV[2] milliseconds unless so} lock:orders:2026-11-21 "+
		"client-2-0000000000000017 10000",
		"(error) NOSCRIPT No matching script. Please use EVAL.")
	b := p.Ends(2, "EVAL {take the lock for ARGV[2] milliseconds unless so} lock:orders:2026-11-21 "+
		"client-2-0000000000000017 10000", "1",
		"holds lock until 10.004s", LockOp(harness.Acquire, ""))
	p.Does(3, "", "")
	p.Does(4, "waits 5ms", "")
	p.Ends(4, "SET lock 3-1 NX PX 10000", "(nil)", "lock is somebody else's", LockOp(harness.Acquire, harness.Held))
	p.Ends(1, "PEXPIRE lock 10000", "1", "holds lock until 10.009s", LockOp(harness.Extend, ""))
	p.Ends(1, "EVALSHA {delete the lock if it is ours} lock 0-1", "0", "lock was not its own any more",
		LockOp(harness.Release, harness.NotMine))
	p.holds(a, 0, a.Call+a.TTL, harness.LeaseEnds)
	p.holds(b, 1, b.Call+b.TTL, harness.LeaseEnds)
	return p.Shows(harness.DoubleGrant, "lock",
		"client 2 was granted lock by 0.0055 s, while client 1 certainly held it from 0.0025 s until 0.0100 s", a, b)
}

// Hostile returns a counterexample that has the string evil in each of its texts, for tests of escaping.
func Hostile(evil string) interleave.Counterexample {
	p := NewPlay()
	op := p.Ends(1, "SET "+evil, evil, evil, harness.Op{Kind: harness.Acquire, Key: evil, TTL: sec})
	p.Ends(2, "EVAL "+evil+evil+evil, evil+evil, evil, harness.Op{Kind: harness.Acquire, Key: evil, TTL: sec})
	p.Step(interleave.Run(98), 99, evil, evil)
	p.Step(interleave.Choice(255), -4, evil, evil)
	p.World(interleave.FlushScripts, evil)
	p.Crashes(2)
	p.Probes(evil, evil, evil, op)
	for range 100 {
		p.Does(1, evil, "")
	}
	return p.Shows(harness.Class(evil), evil, evil+" clients 0 and 99999999999999999999", op, harness.Op{Client: 77})
}
