package checkers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Mutex returns the checker of mutual exclusion: no two owners certainly hold one lock at one time.
//
// An owner is a worker together with its token, Arg. An owner may acquire a lock again that it already holds.
//
// The lease of an acquire or extend X, counted from a time t, ends at t + TTL*(1-Meta.Drift). If the variant promises
// an X.Until that comes first, the lease ends at X.Until. A TTL of 0 has no end.
//
// Every ok acquire or extend A begins a hold. The hold ends at the first of:
//
//   - the end of A's lease, counted from A.Call;
//   - the Call of the owner's next release of that key, whatever its outcome;
//   - for each later acquire or extend X of the owner that did not fail, the end of X's lease, counted from X.Call, but
//     not before X.Call. X may have replaced the lease by a shorter one;
//   - for each earlier acquire or extend X of the owner that ended in info, the end of X's lease, counted from A.Call.
//     The server may execute X after A;
//   - A.Call, if an earlier release of the owner ended in info, for the same reason.
//
// The end is never before A.Call. A hold is certain from A.Return to its end.
//
// Two holds A and B of different owners are a violation if A.Return < end of B and B.Return < end of A. If A renewed an
// earlier hold of the same owner before that hold had ended, the Return of the earlier grant counts in place of
// A.Return. Holds that only touch are no violation. Intervals are closed, so operations that meet in one instant may
// have happened in the harmless order. Porcupine reads intervals the same way. Sources: soundness rules 1, 2 and 5.
//
// Every acquire that overlaps an earlier hold is one violation, however many holds it overlaps. An extend that overlaps
// one is a violation, too, unless its owner has been part of a violation since it got the lock: two owners that keep
// extending are not counted again and again.
//
// The class is [harness.StolenRelease] if a late release explains the overlap, otherwise [harness.DoubleGrant]. A late
// release was answered ok, came after the last lease of its own owner, and may have removed the earlier hold. The
// checker has to see it before the overlap is certain. The release does not count if the earlier hold's owner called an
// ok extend after the release had returned: that owner still had the lock. No release counts if a fault is in force,
// since a second primary would explain the overlap as well.
//
// The figure "grants" counts acquires only, those of [harness.HarnessClient] included.
//
// Time per operation is amortised O(1) plus the open holds of its key. How many other locks the worker holds does not
// matter. Memory is bounded by the keys, the workers, the open holds, and 4,096 grants that wait for an owner that has
// fallen silent. Each owner with an operation in info takes 16 bytes more. Three kinds of grant are not judged, and
// make the verdict Unknown if no violation is found:
//
//   - those beyond the 4,096;
//   - those whose call was under way for longer than 16 leases of another owner, each renewed before its end;
//   - grants of an owner with an operation in info, after 16,384 other owners had one.
func Mutex() harness.Checker { return mutex{} }

type mutex struct{}

func (mutex) Name() string { return "mutex" }

func (c mutex) Check(ctx context.Context, h harness.History, report func(harness.Anomaly)) harness.Judgement {
	p := &mutexPass{tally: newTally(h, report), faults: harness.Influences(h.Faults), holdsOf: map[int]*workerHolds{},
		locks: map[string]*lock{}}
	err := eachOp(ctx, h, p.op)
	undecidedDoubt := p.end(err == nil && isComplete(h))
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid: fmt.Sprintf("no two certain holds overlap in %s grants", units.Count(int64(p.grants))),
		absent: []string{noneSeen(p.acquires, harness.Acquire), doubtIf(2*p.certain < p.grants,
			"only %d of %d grants were answered inside their lease: the TTL is too short for this load",
			p.certain, p.grants)},
		doubts: []string{
			undecidedDoubt,
			doubtIf(p.unjudged > 0, "%d grants were not judged: %d others waited already for owners that have fallen "+
				"silent", p.unjudged, maxUndecided),
			doubtIf(p.forgotten > 0, "%d grants were not judged: their owners have commands that may still be "+
				"executed, and more than %d other owners have had some since", p.forgotten, lateKept),
			overtakenDoubt(p.overtaken, harness.Acquire),
		},
		figures: p.figures(),
	})
}

// mutexPass is one pass over a history. It goes through the operations once, in order of Return.
//
// When a grant B returns, the leases tell which earlier holds A may last until then. They do not tell whether the owner
// of A has released the lock meanwhile, since that release has not returned yet. A worker does one thing after the
// other, so its next operation tells. If that is a release, A ended at the release's Call. If it is anything else, A
// lasted until it returned. If A and B returned in one instant, the same question arises about B. For example, client 2
// was granted a lock while client 1 held it, which is known only when R returns:
//
//	client 1   |--acquire A--|                       |--release R--|
//	client 2                     |--acquire B--|
//	A certain                |.......................|
//
// So each operation x of a worker is handled in two steps:
//
//  1. applyToHolds says what x proves about the holds of its worker: a release ends them, a new lease may shorten them,
//     anything else confirms them. That decides the overlaps that waited for these holds.
//  2. If x is a grant, grant begins a hold. If holds of other owners may overlap it, openOverlap opens one overlap for
//     all of them.
//
// An overlap (overlap.go) is over in one of these ways:
//
//   - confirm reports it: a first hold and the second certainly lasted long enough. An overlap that was counted before
//     is not reported again.
//   - close drops it: each first hold was released in time, or got a shorter lease, or the second ended at its Return.
//   - The record ends. In a complete record, owners without a later operation have released nothing, so end decides the
//     overlap. In an incomplete record the overlap makes the verdict Unknown.
//   - It was never opened, for one of three bounds on memory. Each has a counter here, and makes the verdict Unknown.
//
// In a widened history (Meta.Widened) the clocks of several machines were compared, and a recorded Return may be later
// than the true one. Then x proves only that holds lasted until x.Call, and B may have ended before its recorded
// Return.
//
// hold.go has the holds of a lock, held.go the holds of a worker, late.go and lease.go the ends of leases.
type mutexPass struct {
	*tally
	faults []harness.Influence

	// What is known so far.
	seq               int // place of the current operation in the history, from 1
	locks             map[string]*lock
	holdsOf           map[int]*workerHolds // holds by worker
	pending           lateOwners           // late commands of owners with operations in info
	undecidedOverlaps int                  // number of overlaps that are not decided; at most maxUndecided

	// Counts for the figures.
	acquires, grants, releases int
	extends                    int // number of ok extends
	certain                    int // number of grants answered before their hold ended

	// Grants that were not judged, for the reasons that Mutex gives.
	unjudged  int // no room for another overlap
	overtaken int // grants under way while another owner renewed its lease many times
	forgotten int // grants to an owner whose late commands were forgotten
}

// op first applies x to the holds of its worker, then begins the hold that x was granted.
func (p *mutexPass) op(x harness.Op) {
	p.seq++
	worker := p.meta.Worker(x.Client)
	previous := p.applyToHolds(worker, x)
	switch x.Kind {
	case harness.Acquire:
		p.acquires++
	case harness.Extend, harness.Release:
	default:
		return
	}
	entry(p.locks, x.Key) // counts as a key, even if nobody is granted the lock
	switch {
	case x.Outcome == harness.Info:
		p.pending.add(x, p.meta)
	case x.Outcome != harness.OK:
	case x.Kind == harness.Release:
		p.releases++
	case x.Kind == harness.Extend:
		p.extends++
		p.grant(worker, x, previous)
	default:
		p.grants++
		p.grant(worker, x, previous)
	}
}

// applyToHolds applies x to the holds of its worker. A release ends the holds of its lock and token, and an acquire or
// extend may shorten their leases. Any other x proves that the worker's holds lasted until x returned, since a worker
// does one thing after the other. applyToHolds returns the latest hold of x's lock and token, or nil if there is none.
func (p *mutexPass) applyToHolds(worker int, x harness.Op) *hold {
	w := p.holdsOf[worker]
	if w == nil {
		return nil
	}
	id := lockTokenOf(x)
	latest := w.latest[id]
	if latest == nil && len(w.waiting) == 0 {
		return nil
	}
	var buffer [4]*hold
	var kept *hold // the latest of that lock and token so far
	for _, h := range w.takeAffected(buffer[:0], latest) {
		sameLockAndToken := lockTokenOf(h.op) == id
		if p.apply(h, x, sameLockAndToken) {
			continue
		}
		if sameLockAndToken {
			h.previous, kept = kept, h
		}
		if h.isAwaited() {
			w.queue(h)
		}
	}
	if latest == nil {
		return nil
	}
	w.set(id, kept)
	if x.Kind == harness.Release && x.Outcome == harness.OK && latest.expiredBefore(x) {
		p.locks[x.Key].noteSuspectRelease(&theft{hold: latest, release: indexedOp{x, p.seq}})
	}
	return latest
}

// apply applies x to h, a hold of the same worker. It reports whether h can be dropped: x released h, or x is a new
// grant of the same lock and token and no possible violation depends on h.
func (p *mutexPass) apply(h *hold, x harness.Op, sameLockAndToken bool) (done bool) {
	if sameLockAndToken && x.Kind == harness.Release {
		p.release(h, x)
		return true
	}
	if sameLockAndToken && setsLease(x) {
		p.renew(h, x)
	}
	if h.isAwaited() {
		p.heldUntil(h, p.heldAtLeastUntil(x), nil)
		p.locks[h.op.Key].sweep()
	}
	superseded := sameLockAndToken && setsLease(x) && x.Outcome == harness.OK
	if !superseded || h.isAwaited() {
		return false
	}
	p.remove(h)
	return true
}

// heldAtLeastUntil returns the earliest time at which the worker of x can have called a release after x. A worker does
// one thing after the other, so that time is the Return of x. In a widened history the true Return may be as early as
// x.Call.
func (p *mutexPass) heldAtLeastUntil(x harness.Op) time.Duration {
	if p.meta.Widened {
		return x.Call
	}
	return x.Return
}

// release ends h at the Call of the release r and decides the overlaps that depend on h.
func (p *mutexPass) release(h *hold, r harness.Op) {
	h.tenure.releasedAt = r.Call
	if h.isAwaited() {
		released := &indexedOp{r, p.seq}
		if r.Call <= h.op.Return {
			p.endedAtReturn(h, r.Call, released)
		}
		p.heldUntil(h, r.Call, released)
		p.locks[h.op.Key].sweep()
	}
	p.remove(h)
}

// renew shortens h to the lease of x if that ends earlier, and drops the overlaps that the shorter lease rules out. If
// x is an ok extend, its owner still had the lock, so no release that had returned before x.Call has removed it.
func (p *mutexPass) renew(h *hold, x harness.Op) {
	if x.Kind == harness.Extend && x.Outcome == harness.OK {
		h.thefts = slices.DeleteFunc(h.thefts, func(t *theft) bool { return x.Call > t.release.op.Return })
	}
	until := renewedUntil(x, p.meta.Drift)
	if until >= h.until {
		return
	}
	// In a widened history a release still to come may have been called earlier.
	if until <= h.op.Return && !p.meta.Widened {
		p.endedAtReturn(h, until, nil)
	}
	l := p.locks[h.op.Key]
	for o := range l.overlapsAfter(h, until) {
		p.dropFirst(o, h)
	}
	h.until = until
	l.sweep()
}

// remove takes h out of its lock and clears its references, so that h keeps no earlier hold in memory.
func (p *mutexPass) remove(h *hold) {
	h.overlap = nil
	h.thefts = nil
	h.previous = nil
	l := p.locks[h.op.Key]
	l.holds = slices.DeleteFunc(l.holds, func(other *hold) bool { return other == h })
}

// grant begins the hold of x, an ok acquire or extend, and opens an overlap if earlier holds may overlap it. The
// parameter previous is the hold that x renews, or nil.
func (p *mutexPass) grant(worker int, x harness.Op, previous *hold) {
	late, known := p.pending.commandsOf(x, p.meta)
	if !known {
		p.forgotten++
	}
	h := newHold(indexedOp{x, p.seq}, owner{worker, x.Arg}, late.endOf(x, p.meta.Drift))
	if previous != nil {
		h.continueFrom(previous)
	}
	l := entry(p.locks, x.Key)
	l.prune(x)
	p.openOverlap(l, h)
	p.addHold(worker, h)
	if h.until <= x.Return {
		return // the hold is over already, so no later grant can overlap it
	}
	if x.Kind == harness.Acquire {
		p.certain++
	}
	l.noteLastTheft(h)
	l.holds = append(l.holds, h)
}

// addHold makes h the latest hold of its lock and token. It queues h if a possible violation depends on how long h
// lasts.
func (p *mutexPass) addHold(worker int, h *hold) {
	w, id := entry(p.holdsOf, worker), lockTokenOf(h.op)
	h.previous = w.latest[id]
	w.set(id, h)
	if h.isAwaited() {
		w.queue(h)
	}
	w.sweep(h.op.Return)
}

// openOverlap opens an overlap, a possible violation, of h with all earlier holds that it may overlap. How long they
// last is not known yet. If too many overlaps are undecided, it counts the grant of h as not judged instead.
func (p *mutexPass) openOverlap(l *lock, h *hold) {
	hasRoom := p.undecidedOverlaps < maxUndecided
	var firsts, ties int
	var mayExclude bool // an earlier hold may exclude h, but its links were dropped
	for _, first := range l.holds {
		if !first.excludes(h) {
			mayExclude = mayExclude || first.linksDropped && first.outlives(h)
			continue
		}
		firsts++
		if !p.meta.Widened && first.beginsAtReturnOf(h) {
			ties++
		}
		if hasRoom {
			first.lastExcluded = h.op.Return
			p.holdsOf[first.owner.worker].queue(first)
		}
	}
	switch {
	case firsts > 0 && hasRoom:
		h.overlap = &overlap{second: h, firsts: firsts, ties: ties, widened: p.meta.Widened}
		l.overlaps = append(l.overlaps, h.overlap)
		p.undecidedOverlaps++
	case firsts > 0:
		p.unjudged++
	case mayExclude:
		p.overtaken++
	}
}

// end decides the remaining overlaps if the record is complete. In a complete record, owners without a later operation
// have not released anything, so their holds end with their leases. An incomplete record may lack a release, so end
// decides nothing and returns a reason for Unknown.
func (p *mutexPass) end(complete bool) string {
	if complete {
		for _, h := range p.holdsInOrder() {
			p.heldUntil(h, forever, nil)
		}
	}
	remaining := 0
	for _, l := range p.locks {
		for _, o := range l.overlaps {
			if o.open() && !o.second.alreadyCounted() {
				remaining++
			}
		}
	}
	return doubtIf(remaining > 0, "the record stops before %d possible overlaps of holds were decided", remaining)
}

// holdsInOrder lists the holds of all workers, in the order of the history.
func (p *mutexPass) holdsInOrder() (all []*hold) {
	for _, w := range p.holdsOf {
		all = append(all, w.all()...)
	}
	slices.SortFunc(all, func(a, b *hold) int { return cmp.Compare(a.seq, b.seq) })
	return all
}

func (p *mutexPass) figures() []harness.Figure {
	out := []harness.Figure{
		figureGrants.Count(p.grants), figureCertain.Count(p.certain), figureReleases.Count(p.releases),
		figureKeys.Count(len(p.locks)),
	}
	if p.extends > 0 {
		out = append(out, figureExtends.Count(p.extends))
	}
	return out
}
