package checkers

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Holders returns the checker of the guarded resource: no owner writes to what a lock guards after its lease has ended
// and the next owner has written.
//
// An ok add W to the resource of a lock ([harness.Guarded]) by the owner in its Result is a [harness.StaleHolder] if
// both hold:
//
//   - Its owner (the worker together with that token) was granted the lock and has not called a release since. W.Call >
//     Return + TTL*(1+Meta.Drift) of every acquire and extend by that owner since then that did not fail. None of these
//     has TTL 0, which never ends. No acquire or extend by that owner ever ended in info, since such a command may
//     renew the lease at any later time.
//   - Another owner was granted the lock by an acquire that was called after the last ok acquire of W's owner had
//     returned. An ok add by this other owner had returned before W.Call.
//
// It is not enough that the other owner was granted the lock: it has to have written. A resource that compares fencing
// tokens learns of a grant only when its owner comes to write. Until then the older owner's write does no harm, since
// the newer one reads it. If a write in that gap is lost, [Writes] counts it.
//
// Delays of the lock's operations only make their Return later, which weakens the rule. A write is executed between its
// Call and its Return. A client that is paused or slow for longer than its lease does write too late. That is no false
// alarm: the lock does not protect from it.
//
// Every such write is one violation. A refused write is not, whatever the reason. Writes of owners without a known
// grant make the verdict Unknown. Porcupine is not asked: the operations came one after the other, and a model could
// only repeat the rule about the time between them. Sources: Kleppmann 2016; Jepsen, etcd 3.4.3; soundness rules 1, 2
// and 5.
//
// Time is O(log n) per operation. Memory is bounded. For each worker it holds the latest 8 unreleased grants. For each
// lock it holds the first writes of the owners since the slowest worker's last operation, at most the latest 512 to
// 1,024. A write that was called before those is not judged.
func Holders() harness.Checker { return holders{} }

type holders struct{}

func (holders) Name() string { return "holders" }

func (c holders) Check(ctx context.Context, h harness.History, report func(harness.Anomaly)) harness.Judgement {
	p := &holdersPass{tally: newTally(h, report), grants: map[int][]*grantee{}, successors: map[string]successors{},
		watermark: watermark{workers: h.Meta.Workers, widened: h.Meta.Widened}}
	err := eachOp(ctx, h, p.op)
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid: fmt.Sprintf("none of %s guarded writes came after its lease and after a write of the next owner; %s "+
			"were refused",
			units.Count(int64(p.accepted)), units.Count(int64(p.refused))),
		absent: []string{doubtIf(p.accepted+p.refused == 0, "no write to what a lock guards was recorded")},
		doubts: []string{
			doubtIf(p.unknownGrants > 0, "%d of %d writes to what a lock guards are of owners that are not known to "+
				"have been granted it", p.unknownGrants, p.accepted),
			overtakenDoubt(p.overtaken, harness.Add),
		},
		figures: []harness.Figure{
			figureGuarded.Count(p.accepted), figureGuardedRefused.Count(p.refused),
			figureLate.Count(p.late), figureStale.Count(p.counts[harness.StaleHolder]),
		},
	})
}

// holdersPass is one pass over a history.
type holdersPass struct {
	*tally
	watermark     watermark
	grants        map[int][]*grantee    // grants that a worker has not released, by worker; the latest is last
	successors    map[string]successors // owners that have written, by lock
	pending       lateOwners            // late acquires and extends of owners, by owner
	accepted      int
	refused       int
	late          int // accepted writes that were called after their owner's lease had ended
	overtaken     int // late writes that are not judged, since the owners that wrote before them are no longer kept
	unknownGrants int // accepted writes of owners without a known grant
}

// maxUnreleased bounds the unreleased grants of one worker that are kept.
const maxUnreleased = 8

// grantee is an owner that was granted a lock, or whose unanswered acquire may have taken it.
type grantee struct {
	lock      string
	owner     owner
	acquire   harness.Op    // the last ok acquire; its Kind is empty if there is none
	leaseOver time.Duration // the latest end of all leases that the owner asked for
	wrote     bool          // the owner has written since that acquire
}

func (p *holdersPass) op(x harness.Op) {
	p.watermark.note(x)
	switch x.Kind {
	case harness.Acquire, harness.Extend:
		if x.Outcome != harness.Fail {
			p.noteLease(x)
		}
	case harness.Release:
		worker := p.meta.Worker(x.Client)
		p.grants[worker] = slices.DeleteFunc(p.grants[worker],
			func(g *grantee) bool { return g.matches(x.Key, ownerOf(x, p.meta)) })
	case harness.Add:
		if lock, ok := harness.GuardedBy(x.Key); ok {
			p.write(lock, x)
		}
	}
}

func (g *grantee) matches(lock string, o owner) bool { return g.lock == lock && g.owner == o }

// find returns what is known of the owner o of a lock. It returns nil if nothing is known.
func (p *holdersPass) find(lock string, o owner) *grantee {
	for _, g := range p.grants[o.worker] {
		if g.matches(lock, o) {
			return g
		}
	}
	return nil
}

// noteLease records the lease of x, an acquire or extend that did not fail, for its owner.
func (p *holdersPass) noteLease(x harness.Op) {
	o := ownerOf(x, p.meta)
	g, over := p.find(x.Key, o), p.leaseOver(x)
	if g == nil && x.Kind == harness.Extend {
		return
	}
	if g == nil {
		g = &grantee{lock: x.Key, owner: o}
		p.grants[o.worker] = lastOf(append(p.grants[o.worker], g), maxUnreleased)
	}
	if x.Kind == harness.Acquire && x.Outcome == harness.OK {
		g.acquire, g.wrote = x, false
	}
	g.leaseOver = max(g.leaseOver, over)
}

// leaseOver returns the latest end of the lease of x. It returns the constant forever if x or an earlier acquire or
// extend of its owner ended in info: that command may renew the lease at any later time. It also returns that constant
// if the owner's commands in info were forgotten to bound memory.
func (p *holdersPass) leaseOver(x harness.Op) time.Duration {
	if x.Outcome != harness.OK {
		p.pending.add(x, p.meta)
	}
	if l, known := p.pending.commandsOf(x, p.meta); !known || l.maySetLease {
		return forever
	}
	return leaseOver(x, p.meta.Drift)
}

func lastOf[T any](all []T, n int) []T {
	if len(all) > n {
		return slices.Delete(all, 0, len(all)-n)
	}
	return all
}

// write judges x, an add to the resource that the lock guards.
func (p *holdersPass) write(lock string, x harness.Op) {
	if x.Outcome == harness.Fail {
		p.refused++
	}
	if x.Outcome != harness.OK {
		return
	}
	p.accepted++
	g := p.find(lock, owner{p.meta.Worker(x.Client), x.Result})
	if g == nil || g.acquire.Kind == "" {
		p.unknownGrants++
		return
	}
	if x.Call > g.leaseOver {
		p.late++
		s, ok := p.successors[lock].lastBefore(x.Call)
		switch {
		case ok && s.acquire.Call > g.acquire.Return:
			p.add(p.staleAnomaly(g, s, x))
		case !ok && len(p.successors[lock]) > 0 && p.successors[lock][0].gapBefore:
			p.overtaken++
		}
	}
	if !g.wrote {
		g.wrote = true
		p.successors[lock] = p.successors[lock].prune(p.watermark.low).withSuccessor(successor{acquire: g.acquire,
			write: x})
	}
}

// staleAnomaly returns the anomaly of the write x by g. When x was called, the last lease of g had ended, and s, which
// was granted the lock after g, had written.
func (p *holdersPass) staleAnomaly(g *grantee, s successor, x harness.Op) harness.Anomaly {
	return harness.Anomaly{
		Class: harness.StaleHolder, Key: x.Key, From: g.acquire.Call, To: x.Return,
		Ops: []harness.Op{g.acquire, s.acquire, s.write, x},
		Note: fmt.Sprintf("%s wrote %s to %s at %s, although its lease was over by %s and %s, granted %s by %s, had "+
			"written %s by %s", clientName(x.Client), x.Arg, x.Key, formatTime(x.Call), formatTime(g.leaseOver),
			clientName(s.acquire.Client), g.lock, formatTime(s.acquire.Return), s.write.Arg,
			formatTime(s.write.Return)),
		Spans: append(pastLease(g.acquire, g.leaseOver, x), harness.Span{
			Client: s.acquire.Client, Owner: 1, Kind: harness.NextOwner, From: s.acquire.Return, To: x.Call,
		}),
	}
}

// successor is an owner that has written: its acquire, and its first write after that acquire.
type successor struct {
	acquire, write harness.Op
	gapBefore      bool // entries that came directly before this one were dropped
}

// successors lists the owners of one lock that have written, in order of the Return of their first write. An owner is
// left out if its acquire was called no later than that of an owner before it in the list. So the last owner of the
// list to have written by some time is also the last that was granted the lock.
type successors []successor

// successorsKept is the number of latest successors of a lock that remain when older ones are dropped. They are dropped
// when there are twice as many.
const successorsKept = 512

// withSuccessor adds s, whose write returned after the writes of all others.
func (all successors) withSuccessor(s successor) successors {
	if n := len(all); n > 0 && s.acquire.Call <= all[n-1].acquire.Call {
		return all
	}
	all = append(all, s)
	if len(all) >= 2*successorsKept {
		all = lastOf(all, successorsKept)
		all[0].gapBefore = true
	}
	return all
}

// prune drops the entries that no later write needs. No later write is called before the time in the parameter low.
func (all successors) prune(low time.Duration) successors {
	if len(all) < 2 || all[1].write.Return >= low {
		return all
	}
	n := sort.Search(len(all), func(i int) bool { return all[i].write.Return >= low })
	if n > 1 {
		all[n-1].gapBefore = true
	}
	return slices.Delete(all, 0, n-1)
}

// lastBefore returns the last entry whose write had returned before t.
func (all successors) lastBefore(t time.Duration) (successor, bool) {
	n := sort.Search(len(all), func(i int) bool { return all[i].write.Return >= t })
	if n == 0 {
		return successor{}, false
	}
	return all[n-1], true
}
