package checkers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Owners returns the checker of what owners are told of their own locks: who lost a lock is told so when it extends it, and who has it is not
// refused.
//
// An owner is a worker together with Arg. Its grant is its last ok acquire or extend A of a Key since which it has called no release and no
// acquire that was not ok. A grant B came certainly before X if B.Return < X.Call, or if B returned before X did and before
// the lease of X can be over: had X come first, its owner would still have had the lock when B was granted. Where B renewed what could not be over when
// it returned, the grant before it counts in its place. When a lease can be over, and after
// which commands that got no answer, is defined at [Mutex].
//
// An ok extend X is a [harness.SilentReacquire] if another owner was granted the lock by an ok acquire or extend B that returned between A and
// X, came certainly after A and certainly before X, and if the two were never owners at one time, which [Mutex] tells of: B returned when
// the lease of A could be over, and when X returned the last lease of B's owner was over, or its release had returned. Nothing is said of an owner
// that sent an acquire or extend which ended in info, as that may take the lock anew at any later time. An extend that is granted after
// its lease, where nobody else had the lock meanwhile, is none.
//
// A release or extend X that was refused (Outcome fail, and Err empty or [harness.NotMine]) is a [harness.RefusedRelease] if
//
//   - X returned before the lease of A can be over. If X is a release, its owner was granted the lock once only since its last release: who
//     entered twice may have to leave twice. No command of its owner since A ended in info;
//   - the lock shows that it was still taken: an acquire E by another owner was refused (Err empty or [harness.Held]), called after X had returned
//     and answered before that lease can be over. If X is an extend, its owner called no release by the Return of E;
//   - nobody can have taken it anew: no ok acquire or extend of another owner returned after A.Call and was called by the Return of E, none that
//     was called by then, by anybody, ended in info, and its owner called no further acquire by then. An
//     acquire that failed for any other reason may have had the lock for a while, so it counts like one that was ok;
//   - no fault may have made Redis forget anything from A.Call to the Return of E.
//
// So a lock that keeps a shorter lease than it was asked for is none: it is free when it refuses its owner, and the next one gets it. Nor is a
// release that its client sent twice, as its first answer was lost: it has given the lock up.
//
// Each such operation is one violation. Porcupine is not asked. Sources: the contract of workloads.Locker and workloads.Extender; soundness rules 1,
// 2 and 5.
//
// Time is O(1) an operation. Memory is bounded: of each worker its latest 8 grants are kept, of each lock the latest 16, and 16 refusals for which
// no evidence has come yet. Refusals are reported once nobody is left who could have taken the lock, up to 4,096 wait for that at a time; a record
// that stops before, and more of them, leave doubts.
func Owners() harness.Checker { return owners{} }

type owners struct{}

func (owners) Name() string { return "owners" }

func (c owners) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := &ownersPass{tally: newTally(h, found), faults: harness.Influences(h.Faults), of: map[int][]*owning{}, locks: map[string]*ownedLock{},
		mark: watermark{workers: h.Meta.Workers, widened: h.Meta.Widened, ours: true}}
	err := eachOp(ctx, h, p.op)
	undecided := p.end(err == nil && isComplete(h))
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid: fmt.Sprintf("none of %s extends was granted to an owner that had lost the lock, none of %s refusals was of one that had it",
			units.Count(int64(p.extends)), units.Count(int64(p.refusals))),
		absent: []string{noneSeen(p.grants, harness.Acquire)}, doubts: []string{undecided},
		figures: []harness.Figure{
			figureExtendsJudged.Count(p.extends), figureReacquired.Count(p.counts[harness.SilentReacquire]),
			figureRefusals.Count(p.refusals), figureRefusedOwners.Count(p.counts[harness.RefusedRelease]),
		},
	})
}

// ownersPass is one pass over a history.
type ownersPass struct {
	*tally
	faults   []harness.Influence
	mark     watermark
	of       map[int][]*owning // by worker: the latest last
	locks    map[string]*ownedLock
	pending  lateOwners
	waiting  []*refusal // with evidence, in order of its Return
	seq      int        // of the operation at hand, from 1
	grants   int
	extends  int // ok, of owners whose grant is known
	refusals int // extends and releases of such owners
	unjudged int // refusals with evidence for which there was no room
}

// owning is an owner's grant.
type owning struct {
	owner owner
	sight
	since  time.Duration // its Return, or that of an earlier grant which it and others renewed before it could be over
	until  time.Duration // when it can be over
	enters int           // ok acquires since the last release
	doubt  bool          // a command that ended in info came after it
}

// ownedLock is one lock.
type ownedLock struct {
	grants    []*owned      // the latest
	refusals  []*refusal    // without evidence
	unknown   []owner       // owners that may take it at any later time, two at most
	givenBack time.Duration // the Return of the last acquire that may have had the lock and has given it back
	waiting   int           // refusals with evidence that are not decided
}

// owned is a grant of a lock.
type owned struct {
	owner owner
	sight
	since    time.Duration // as for owning
	kept     time.Duration // when it could be over, as far as was known when it returned
	released bool
}

// refusal is a release or extend that an owner was refused inside its lease.
type refusal struct {
	owner   owner
	grant   harness.Op
	until   time.Duration
	refused harness.Op
	by      harness.Op // the acquire that shows that the lock was taken
	dropped bool
}

const (
	maxOwned    = 16 // grants, and refusals, of one lock that are kept
	maxUnknowns = 2  // owners of whom it is kept that they may take a lock at any later time: of whomever it is asked, another one is among them
)

func (p *ownersPass) op(x harness.Op) {
	p.seq++
	p.mark.hear(x)
	p.reportBefore(p.mark.low)
	if x.Kind != harness.Acquire && x.Kind != harness.Extend && x.Kind != harness.Release {
		return
	}
	who, l := ownerOf(x, p.meta), p.lock(x.Key)
	mine := p.find(x.Key, who)
	switch {
	case x.Outcome == harness.Info:
		p.unanswered(l, who, mine, x)
	case x.Kind == harness.Release:
		p.release(l, who, mine, x)
	case x.Outcome == harness.OK:
		p.grant(l, who, mine, x)
	case x.Kind == harness.Extend:
		p.refuse(l, mine, x)
	default:
		p.drop(mine, who)
		p.refuseAcquire(l, who, x)
	}
}

func (p *ownersPass) lock(key string) *ownedLock {
	l := p.locks[key]
	if l == nil {
		l = &ownedLock{}
		p.locks[key] = l
	}
	return l
}

func (p *ownersPass) find(key string, who owner) *owning {
	for _, o := range p.of[who.worker] {
		if o.op.Key == key && o.owner == who {
			return o
		}
	}
	return nil
}

func (p *ownersPass) drop(o *owning, who owner) {
	if o != nil {
		p.of[who.worker] = slices.DeleteFunc(p.of[who.worker], func(other *owning) bool { return other == o })
	}
}

// unanswered notes x, a command that may be executed at any later time.
func (p *ownersPass) unanswered(l *ownedLock, who owner, mine *owning, x harness.Op) {
	p.pending.add(x, p.meta)
	if mine != nil {
		mine.doubt = true
	}
	if x.Kind == harness.Release || x.Kind == harness.Acquire {
		p.drop(mine, who)
	}
	if x.Kind == harness.Release {
		p.giveUp(l, who, x)
		return
	}
	if len(l.unknown) < maxUnknowns && !slices.Contains(l.unknown, who) {
		l.unknown = append(l.unknown, who)
	}
	p.taken(l, who, x)
}

// release notes the release x. Whatever came of it, its owner has given the lock up.
func (p *ownersPass) release(l *ownedLock, who owner, mine *owning, x harness.Op) {
	p.giveUp(l, who, x)
	if mine != nil && x.Outcome == harness.Fail {
		p.refuse(l, mine, x)
	}
	p.drop(mine, who)
}

// giveUp notes the call of a release, x.
func (p *ownersPass) giveUp(l *ownedLock, who owner, x harness.Op) {
	for _, g := range l.grants {
		g.released = g.released || g.owner == who
	}
	p.explain(l, x, func(r *refusal) bool { return r.owner == who && r.refused.Kind == harness.Extend })
}

// grant judges x, an ok extend, and notes x, an ok acquire or extend.
func (p *ownersPass) grant(l *ownedLock, who owner, mine *owning, x harness.Op) {
	late, _ := p.pending.commandsOf(x, p.meta)
	until := late.keptUntil(x, p.meta.Drift)
	if x.Kind == harness.Extend && mine != nil {
		p.extends++
		if b := p.ownerBetween(l, mine, x, until); b != nil && !late.sets {
			p.add(reacquireAnomaly(mine, b, x))
		}
	}
	p.taken(l, who, x)
	enters, since := 0, x.Return
	if mine != nil {
		enters = mine.enters
		if !mine.doubt && p.shortened(mine, x) > x.Return {
			since = mine.since
		}
		p.drop(mine, who)
	}
	l.grants = lastOf(append(l.grants, &owned{owner: who, sight: sight{x, p.seq}, since: since, kept: until}), maxOwned)
	if x.Kind == harness.Acquire {
		p.grants++
		enters++
	}
	mine = &owning{owner: who, sight: sight{x, p.seq}, since: since, until: until, enters: enters}
	p.of[who.worker] = lastOf(append(p.of[who.worker], mine), maxUnreleased)
}

// ownerBetween returns a grant of another owner that certainly came between that of mine and its extend x, which is kept until then, and is over.
func (p *ownersPass) ownerBetween(l *ownedLock, mine *owning, x harness.Op, until time.Duration) *owned {
	for i, b := range l.grants {
		if b.seq > mine.seq && b.owner != mine.owner && b.op.Return >= p.shortened(mine, x) &&
			p.before(mine.since, b.op, b.kept) && p.before(b.since, x, until) && p.isOver(l.grants[i:], b.owner, x) {
			return b
		}
	}
	return nil
}

// shortened returns when the lease of mine can be over, if x may have set it anew.
func (p *ownersPass) shortened(mine *owning, x harness.Op) time.Duration {
	return min(mine.until, renewedUntil(x, p.meta.Drift))
}

// before reports whether a grant that an owner had for certain since then came before b, which was kept until then.
func (p *ownersPass) before(since time.Duration, b harness.Op, kept time.Duration) bool {
	return since < grantedAfter(b, kept, p.meta)
}

// isOver reports whether the last of some grants by that owner is over when x returns.
func (p *ownersPass) isOver(grants []*owned, who owner, x harness.Op) bool {
	for _, g := range slices.Backward(grants) {
		if g.owner == who {
			return g.released || g.kept <= x.Return
		}
	}
	return true
}

// refuse keeps x, a release or extend by the owner of mine that was refused, if it was inside its lease.
func (p *ownersPass) refuse(l *ownedLock, mine *owning, x harness.Op) {
	if mine == nil || x.Err != "" && x.Err != harness.NotMine {
		return
	}
	p.refusals++
	late, _ := p.pending.commandsOf(x, p.meta)
	another := func(g *owned) bool { return g.owner != mine.owner && g.op.Return >= mine.op.Call }
	if x.Return >= mine.until || mine.doubt || late.sets || l.givenBack >= mine.op.Call || x.Kind == harness.Release && mine.enters > 1 || len(l.refusals) == maxOwned ||
		slices.ContainsFunc(l.grants, another) || slices.ContainsFunc(l.unknown, func(o owner) bool { return o != mine.owner }) {
		return
	}
	l.refusals = append(l.refusals, &refusal{owner: mine.owner, grant: mine.op, until: mine.until, refused: x})
}

// refuseAcquire notes the acquire x, which was not granted. Its owner may have met its own command, and what is no plain refusal may have had the
// lock for a while.
func (p *ownersPass) refuseAcquire(l *ownedLock, who owner, x harness.Op) {
	plain := x.Err == "" || x.Err == harness.Held
	p.explain(l, x, func(r *refusal) bool { return r.owner == who || !plain })
	if plain {
		p.showTaken(l, x)
	} else {
		l.givenBack = x.Return
	}
}

// showTaken takes e, an acquire that was refused, for evidence that the lock was still taken when it had refused its owner.
func (p *ownersPass) showTaken(l *ownedLock, e harness.Op) {
	l.refusals = slices.DeleteFunc(l.refusals, func(r *refusal) bool {
		if e.Return >= r.until {
			return true
		}
		if e.Call <= r.refused.Return {
			return false
		}
		if len(p.waiting) == maxUndecided {
			p.unjudged++
			return true
		}
		r.by = e
		p.waiting = append(p.waiting, r)
		l.waiting++
		return true
	})
}

// taken drops the refusals that x explains, an acquire or extend that may have taken the lock.
func (p *ownersPass) taken(l *ownedLock, who owner, x harness.Op) {
	p.explain(l, x, func(r *refusal) bool { return r.owner != who || x.Kind == harness.Acquire || x.Outcome == harness.Info })
}

// explain drops those of the refusals of a lock that x explains, unless it was called when they had been shown.
func (p *ownersPass) explain(l *ownedLock, x harness.Op, explains func(*refusal) bool) {
	l.refusals = slices.DeleteFunc(l.refusals, explains)
	if l.waiting == 0 {
		return
	}
	for _, r := range p.waiting {
		if r.grant.Key == x.Key && x.Call <= r.by.Return && explains(r) {
			r.dropped = true
		}
	}
}

// reportBefore reports what was seen before low: nothing that was called by then can come any more.
func (p *ownersPass) reportBefore(low time.Duration) {
	n := 0
	for ; n < len(p.waiting) && p.waiting[n].by.Return < low; n++ {
		r := p.waiting[n]
		p.locks[r.grant.Key].waiting--
		if !r.dropped && !p.inFault(r) {
			p.add(r.anomaly())
		}
	}
	p.waiting = slices.Delete(p.waiting, 0, n)
}

// inFault reports whether a fault may have made Redis forget what the owner was granted.
func (p *ownersPass) inFault(r *refusal) bool {
	return slices.ContainsFunc(p.faults, func(f harness.Influence) bool { return f.Overlaps(r.grant.Call, r.by.Return) })
}

// end reports what still waits, if nothing was under way when the record stopped, and returns a doubt otherwise.
func (p *ownersPass) end(complete bool) string {
	if complete {
		p.reportBefore(forever)
	}
	left := p.unjudged
	for _, r := range p.waiting {
		if !r.dropped && !p.inFault(r) {
			left++
		}
	}
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("it is not known of %d refusals whether somebody else had taken the lock", left)
}

func reacquireAnomaly(mine *owning, b *owned, x harness.Op) harness.Anomaly {
	return harness.Anomaly{
		Class: harness.SilentReacquire, Key: x.Key, From: mine.op.Call, To: x.Return, Ops: []harness.Op{mine.op, b.op, x},
		Note: fmt.Sprintf("%s extended %s at %s and was told yes, though %s %s it by %s, after %s, by %s: nobody told %s that it had lost it",
			clientName(x.Client), x.Key, formatTime(x.Return), clientName(b.op.Client), describeGrant(b.op), formatTime(b.op.Return),
			clientName(x.Client), formatTime(mine.op.Return), clientName(x.Client)),
	}
}

func (r *refusal) anomaly() harness.Anomaly {
	return harness.Anomaly{
		Class: harness.RefusedRelease, Key: r.grant.Key, From: r.grant.Call, To: r.by.Return, Ops: []harness.Op{r.grant, r.refused, r.by},
		Note: fmt.Sprintf("%s was refused its own %s of %s at %s, inside the lease that it had got by %s and that lasts until %s; nobody else was granted the lock since, and at %s it was still refused to %s",
			clientName(r.refused.Client), r.refused.Kind, r.grant.Key, formatTime(r.refused.Return), formatTime(r.grant.Return), formatTime(r.until),
			formatTime(r.by.Return), clientName(r.by.Client)),
	}
}
