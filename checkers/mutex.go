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
// What an ok acquire or extend A was granted can be over at the earliest of
//
//   - the Call of the next release of that key by the same owner, whatever came of that release;
//   - A.Call + TTL*(1-Meta.Drift), the earliest end of the lease; TTL 0 has none;
//   - A.Until, where the variant promises an end of its own;
//   - that same end of any later acquire or extend X of that key by the same owner, unless X failed, though not before
//     X.Call: it may have set the lease anew, to a shorter one;
//   - that same end, counted from A.Call, of any earlier X by the same owner that ended in info, since X may be executed after
//     A; and A.Call, if such an X is a release.
//
// That end is never before A.Call. From A.Return until then the hold is certain. The owner is the worker together with Arg, its
// token; an owner may acquire again what it holds. An operation that ended in info or fail is granted nothing. Two grants A and B
// to different owners violate mutual exclusion if neither can be over when the other one returns: B.Return < end of A and
// A.Return < end of B. If A renewed an earlier grant of its owner before that could be over, the Return of the earlier grant counts
// instead of A.Return. Holds that only touch are no violation: intervals are closed, so what happens in one instant is concurrent
// and may have happened in the better order. Porcupine reads intervals in the same way. Sources: soundness rules 1, 2 and 5.
//
// Every acquire that overlaps an earlier hold is one violation, reported once, however many holds it overlaps. An extend is
// one as well, unless its owner was part of one already since it got the lock: two owners that go on extending are not
// counted again and again. The class is [harness.StolenRelease] if a third party's release that was answered ok explains
// it: one that was late, after the last lease of its own owner, and may have met the earlier hold. Only releases seen before
// the overlap is certain count; not those that had returned before the earlier hold's owner called an extend that was ok, so
// still had the lock; and only where no fault is in force: a second primary would explain the overlap as well.
// Otherwise it is [harness.DoubleGrant].
//
// Grants, in the figures, are acquires only, those of [harness.HarnessClient] among them.
//
// Time is O(1) amortised for each operation, and each open hold of its key: how many other locks its worker holds does not matter.
// Memory is bounded by the keys, the workers and the open holds, by 16 bytes for each owner that ended in info, and by
// 4,096 grants that can only be judged once an owner that has fallen silent speaks again. Of further ones, of a call that was
// under way for more than 16 leases of an owner that renewed them, and of an owner that ended in info and comes back
// when 16,384 others have done so since, nothing is said, and the verdict is Unknown if no violation is found.
func Mutex() harness.Checker { return mutex{} }

type mutex struct{}

func (mutex) Name() string { return "mutex" }

func (c mutex) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := &mutexPass{tally: newTally(h, found), faults: harness.Influences(h.Faults), held: map[int]*possessions{}, locks: map[string]*lock{}}
	err := eachOp(ctx, h, p.op)
	undecided := p.end(err == nil && isComplete(h))
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid:  fmt.Sprintf("no two certain holds overlap in %s grants", units.Count(int64(p.grants))),
		absent: []string{noneSeen(p.acquires, harness.Acquire), p.uncertain()}, doubts: []string{undecided, p.tooManyWaiting(), p.tooLittleKnown(), overtakenDoubt(p.overtaken, harness.Acquire)},
		figures: p.figures(),
	})
}

func (p *mutexPass) figures() []harness.Figure {
	out := [...]harness.Figure{
		figureGrants.Count(p.grants), figureCertain.Count(p.certain), figureReleases.Count(p.releases),
		figureKeys.Count(len(p.locks)), figureExtends.Count(p.extends),
	}
	if p.extends == 0 {
		return out[:4]
	}
	return out[:]
}

// uncertain returns a doubt if most grants were answered when their lease could be over: such a history cannot show much.
func (p *mutexPass) uncertain() string {
	if p.grants == 0 || 2*p.certain >= p.grants {
		return ""
	}
	return fmt.Sprintf("only %d of %d grants were answered inside their lease: the TTL is too short for this load", p.certain, p.grants)
}

// tooManyWaiting returns a doubt if too many grants waited for a silent owner.
func (p *mutexPass) tooManyWaiting() string {
	if p.unjudged == 0 {
		return ""
	}
	return fmt.Sprintf("%d grants were not judged: %d others waited already for owners that have fallen silent", p.unjudged, maxUndecided)
}

// tooLittleKnown returns a doubt if too little is known of the late commands of owners that were granted locks.
func (p *mutexPass) tooLittleKnown() string {
	if p.forgotten == 0 {
		return ""
	}
	return fmt.Sprintf("%d grants were not judged: their owners have commands that may still be executed, and more than %d other owners have had some since",
		p.forgotten, lateKept)
}

// mutexPass is one pass over a history.
type mutexPass struct {
	*tally
	faults                     []harness.Influence
	held                       map[int]*possessions // by worker
	locks                      map[string]*lock
	late                       lateOwners
	seq                        int // of the operation at hand, from 1
	acquires, grants, releases int
	extends                    int // that were ok
	certain                    int // grants that held something for certain
	undecided                  int // overlaps
	unjudged                   int // grants for whose overlaps there was no room
	overtaken                  int // grants that were under way while an owner renewed its lease again and again
	forgotten                  int // grants of owners whose late commands are not known any more
}

// op first learns what x says about the holds of its worker, then what x itself does.
func (p *mutexPass) op(x harness.Op) {
	p.seq++
	worker := p.meta.Worker(x.Client)
	before := p.settleWorker(worker, x)
	switch x.Kind {
	case harness.Acquire:
		p.acquires++
		p.lock(x.Key)
		if x.Outcome == harness.OK {
			p.grants++
			p.grant(worker, x, before)
		}
	case harness.Extend:
		p.lock(x.Key)
		if x.Outcome == harness.OK {
			p.extends++
			p.grant(worker, x, before)
		}
	case harness.Release:
		p.lock(x.Key)
		if x.Outcome == harness.OK {
			p.releases++
		}
	default:
		return
	}
	if x.Outcome == harness.Info {
		p.late.add(x, p.meta)
	}
}

func (p *mutexPass) lock(key string) *lock {
	l := p.locks[key]
	if l == nil {
		l = &lock{}
		p.locks[key] = l
	}
	return l
}

// settleWorker settles what x, an operation of worker, decides about the holds of that worker. A release ends them. Anything
// else shows that they lasted until x returned, unless x set their lease anew: a worker does one thing after the other, so
// a release still to come is called after that. It returns the latest hold that x goes on with or ends, if there is one.
func (p *mutexPass) settleWorker(worker int, x harness.Op) *hold {
	w := p.held[worker]
	if w == nil {
		return nil
	}
	g := lockTokenOf(x)
	same := w.last(g)
	if same == nil && len(w.waiting) == 0 {
		return nil
	}
	var room [4]*hold
	var left *hold // the latest of that lock and token that is kept
	for _, h := range w.takeConcerned(room[:0], same) {
		about := lockTokenOf(h.op) == g
		if p.settle(h, x, about) {
			continue
		}
		if about {
			h.before, left = left, h
		}
		if h.waits() {
			w.queue(h)
		}
	}
	if same == nil {
		return nil
	}
	w.set(g, left)
	if x.Kind == harness.Release && x.Outcome == harness.OK && same.expiredBefore(x) {
		p.locks[x.Key].noteSuspectRelease(&theft{hold: same, release: sight{x, p.seq}})
	}
	return same
}

// settle decides what x, by the worker of h, says about h, and reports whether h need not be kept any more: because x
// gave it up, or because x is a hold of the same owner that lasts as long at least and nothing waits for h.
func (p *mutexPass) settle(h *hold, x harness.Op, about bool) (done bool) {
	if about && x.Kind == harness.Release {
		p.release(h, x)
		return true
	}
	if about && setsLease(x) {
		p.renew(h, x)
	}
	if h.waits() {
		t := p.lastedUntil(x)
		p.noteLasted(h, t, nil)
		p.confirmLasted(h, t, nil)
		p.locks[h.op.Key].sweep()
	}
	if !about || !setsLease(x) || x.Outcome != harness.OK || h.waits() {
		return false
	}
	p.remove(h)
	return true
}

// lastedUntil returns until when a worker that did x had not called a release that is still to come: it did one thing after the other.
func (p *mutexPass) lastedUntil(x harness.Op) time.Duration {
	if p.meta.Widened {
		return x.Call
	}
	return x.Return
}

// grant begins the hold of the ok acquire or extend x, which goes on with before if that is not nil, and notes which holds it
// may exclude.
func (p *mutexPass) grant(worker int, x harness.Op, before *hold) {
	h := &hold{
		sight: sight{x, p.seq}, owner: owner{worker, x.Arg},
		until: p.leastEnd(x), known: x.Return, latest: -1, since: x.Return,
	}
	h.least, h.own, h.tenure = h.until, tenure{seq: p.seq, given: -1}, &h.own
	if before != nil {
		h.continueFrom(before)
	}
	l := p.lock(x.Key)
	l.prune(x)
	p.openOverlap(l, h)
	p.keep(worker, h)
	if h.until <= x.Return {
		return // nothing later can be granted too early
	}
	if x.Kind == harness.Acquire {
		p.certain++
	}
	l.blameRelease(h)
	l.open = append(l.open, h)
}

// leastEnd returns the earliest end of the lease of x, as far as is known when x returns: its own end, or an earlier one that
// commands of its owner which may still be executed can set.
func (p *mutexPass) leastEnd(x harness.Op) time.Duration {
	l, known := p.late.commandsOf(x, p.meta)
	if !known {
		p.forgotten++
	}
	return l.keptUntil(x, p.meta.Drift)
}

// keep puts h into the possessions of its worker.
func (p *mutexPass) keep(worker int, h *hold) {
	w := p.held[worker]
	if w == nil {
		w = &possessions{}
		p.held[worker] = w
	}
	g := lockTokenOf(h.op)
	h.before = w.last(g)
	w.set(g, h)
	if h.waits() {
		w.queue(h)
	}
	w.sweep(h.op.Return)
}

// openOverlap notes which open holds h may exclude, and opens an overlap if there are any and there is room for it.
func (p *mutexPass) openOverlap(l *lock, h *hold) {
	room := p.undecided < maxUndecided
	firsts, ties, unsure := 0, 0, false
	for _, first := range l.open {
		if !first.meets(h) {
			unsure = unsure || first.cut && first.outlives(h)
			continue
		}
		firsts++
		if !p.meta.Widened && first.beginsAtReturnOf(h) {
			ties++
		}
		if room {
			first.latest = h.op.Return
			p.held[first.owner.worker].queue(first)
		}
	}
	switch {
	case firsts > 0 && room:
		h.overlap = &overlap{second: h, firsts: firsts, ties: ties, widened: p.meta.Widened}
		l.undecided = append(l.undecided, h.overlap)
		p.undecided++
	case firsts > 0:
		p.unjudged++
	case unsure:
		p.overtaken++
	}
}

// release ends h at the Call of r and decides every overlap that waited for it.
func (p *mutexPass) release(h *hold, r harness.Op) {
	h.tenure.given = r.Call
	if h.waits() {
		ended := &sight{r, p.seq}
		if r.Call <= h.op.Return {
			p.endedAtReturn(h, r.Call, ended)
		}
		p.noteLasted(h, r.Call, ended)
		p.confirmLasted(h, r.Call, ended)
		p.locks[h.op.Key].sweep()
	}
	p.remove(h)
}

// renew notes that x may have made the lease of h shorter, and drops the overlaps that this undoes. An ok extend shows as
// well that no release which had returned before it was called removed the lock.
func (p *mutexPass) renew(h *hold, x harness.Op) {
	if x.Kind == harness.Extend && x.Outcome == harness.OK {
		h.thefts = slices.DeleteFunc(h.thefts, func(t *theft) bool { return x.Call > t.release.op.Return })
	}
	until := renewedUntil(x, p.meta.Drift)
	if until >= h.until {
		return
	}
	if until <= h.op.Return && !p.meta.Widened { // in a widened history a release that is still to come may have been called before that
		p.endedAtReturn(h, until, nil)
	}
	l := p.locks[h.op.Key]
	for o := range l.undecidedAfter(h, until) {
		p.dropFirst(o, h)
	}
	h.until = until
	l.sweep()
}

// remove takes h out of its lock, and clears its references to others: otherwise each theft would keep the one before it in
// memory for ever.
func (p *mutexPass) remove(h *hold) {
	h.overlap, h.thefts, h.before = nil, nil, nil
	l := p.locks[h.op.Key]
	l.open = slices.DeleteFunc(l.open, func(other *hold) bool { return other == h })
}

// end decides what still waits. In a complete record an owner that was silent since has not given its lock up, so leases alone
// end the holds. An incomplete record may lack a release that was under way: then end decides nothing, and returns a doubt.
func (p *mutexPass) end(complete bool) string {
	var rest []*hold
	for _, w := range p.held {
		rest = append(rest, w.all()...)
	}
	slices.SortFunc(rest, func(a, b *hold) int { return cmp.Compare(a.seq, b.seq) })
	undecided := 0
	if complete {
		for _, h := range rest {
			p.noteLasted(h, forever, nil)
			p.confirmLasted(h, forever, nil)
		}
	}
	for _, l := range p.locks {
		for _, o := range l.undecided {
			if o.open() && !o.second.alreadyCounted() {
				undecided++
			}
		}
	}
	if undecided == 0 {
		return ""
	}
	return fmt.Sprintf("the record stops before %d possible overlaps of holds were decided", undecided)
}
