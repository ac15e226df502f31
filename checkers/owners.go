package checkers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Owners returns the checker of what owners are told about their own locks. An owner that lost its lock is told so when
// it extends, and an owner that has its lock is not refused.
//
// An owner is a worker together with Arg. Its current grant A is its last ok acquire or extend of a Key. The owner has
// no current grant if it has since called a release, or an acquire that was not ok. [Mutex] defines when a hold can end
// and which late commands count. A grant B certainly came before an operation X if B.Return < X.Call, or if B returned
// before X did and before X's hold can have ended. If B renewed an earlier grant that cannot have ended by then, the
// Return of that earlier grant counts in place of B.Return.
//
// An ok extend X is a [harness.SilentReacquire] if another owner was granted the lock between A and X, without both
// owning the lock at one time. For the other owner's ok acquire or extend B, all of these hold:
//
//   - B returned between A and X, certainly came after A, and certainly came before X;
//   - B returned after A's lease can have ended;
//   - when X returned, the last lease of B's owner had ended, or its release had returned.
//
// If both were owners at one time, [Mutex] reports that. X is not judged if X's owner has an acquire or extend in info,
// since that command may take the lock anew at any later time. An extend granted after its lease is no violation if
// nobody else had the lock meanwhile.
//
// A release or extend X that was refused (Outcome fail, and Err empty or [harness.NotMine]) is a
// [harness.RefusedRelease] if all of these hold:
//
//   - X returned before A's lease can have ended. Since A, no command of X's owner has ended in info. If X is a
//     release, the owner was granted the lock only once since its last release: after two grants it may have to release
//     twice.
//   - The lock was still taken: another owner's acquire E was refused (Err empty or [harness.Held]). E was called after
//     X had returned, and answered before A's lease can have ended. If X is an extend, X's owner called no release by
//     the Return of E.
//   - Nobody can have taken the lock anew. No ok acquire or extend of another owner returned after A.Call and was
//     called by the Return of E. By the Return of E nobody had called an acquire or extend that ended in info, and X's
//     owner had called no further acquire. An acquire that failed for another reason than a refusal may have had the
//     lock for a while, so it counts as ok.
//   - No fault may have made Redis forget anything from A.Call to the Return of E.
//
// So a lock whose lease is shorter than asked for is no violation: the lock is free when it refuses its owner, and the
// next one who asks gets it. A release that its client sent twice because the first answer was lost is no violation
// either: the first one released the lock.
//
// Each such operation is one violation. Porcupine is not asked. Sources: the contract of workloads.Locker and
// workloads.Extender; soundness rules 1, 2 and 5.
//
// Time is O(1) per operation. Memory is bounded by the latest 8 grants of each worker, the latest 16 of each lock, and
// 16 refusals of each lock that have no E yet. A refusal with an E is reported once no later operation can explain it.
// Up to 4,096 refusals wait for that at a time. If there are more, or if the record stops before that, the verdict is
// Unknown unless a violation is found.
func Owners() harness.Checker { return owners{} }

type owners struct{}

func (owners) Name() string { return "owners" }

func (c owners) Check(ctx context.Context, h harness.History, report func(harness.Anomaly)) harness.Judgement {
	p := &ownersPass{tally: newTally(h, report), faults: harness.Influences(h.Faults),
		current: map[int][]*ownersGrant{}, locks: map[string]*ownersLock{},
		watermark: watermark{workers: h.Meta.Workers, widened: h.Meta.Widened, heedsHarness: true}}
	err := eachOp(ctx, h, p.op)
	undecidedDoubt := p.end(err == nil && isComplete(h))
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid: fmt.Sprintf("none of %s extends was granted to an owner that had lost the lock, none of %s refusals "+
			"was of one that had it",
			units.Count(int64(p.extends)), units.Count(int64(p.refusals))),
		absent: []string{noneSeen(p.grants, harness.Acquire)}, doubts: []string{undecidedDoubt},
		figures: []harness.Figure{
			figureExtendsJudged.Count(p.extends), figureReacquired.Count(p.counts[harness.SilentReacquire]),
			figureRefusals.Count(p.refusals), figureRefusedOwners.Count(p.counts[harness.RefusedRelease]),
		},
	})
}

// ownersPass is one pass over a history.
type ownersPass struct {
	*tally
	faults    []harness.Influence
	watermark watermark
	current   map[int][]*ownersGrant // current grants, by worker; the latest is last
	locks     map[string]*ownersLock
	pending   lateOwners
	awaiting  []*refusal // refusals with evidence, in order of the Return of the refused acquire
	seq       int        // place of the current operation in the history, from 1
	grants    int
	extends   int // number of ok extends by owners with a known grant
	refusals  int // number of refused extends and releases by owners with a known grant
	unjudged  int // number of refusals with evidence for which there was no room
}

// ownersGrant is a grant of a lock. While it is in ownersPass.current, it is the current grant of its owner.
type ownersGrant struct {
	owner owner
	indexedOp
	// The time from which on the owner certainly had the lock. It is the Return of this grant. If the grant is the last
	// of several that the owner renewed in time, it is the Return of the first of them.
	certainFrom time.Duration
	until       time.Duration // earliest end of the grant, as far as known when it returned
	entries     int           // number of ok acquires since the last release
	unanswered  bool          // the owner called a command after this grant, and the command ended in info
	released    bool
}

// ownersLock holds what is known of one lock.
type ownersLock struct {
	grants      []*ownersGrant // the latest grants, to any owner
	refusals    []*refusal     // refusals without evidence yet, as the type refusal defines it
	mayTake     []owner        // owners with a command in info that may take the lock at any later time; at most two
	givenBackAt time.Duration  // Return of the last failed acquire that may have had the lock for a while
	waiting     int            // number of refusals with evidence that are not reported yet
}

const (
	grantsKept  = 16 // largest number of grants, and of refusals, kept for one lock
	mayTakeKept = 2  // number of owners kept that may take a lock later; of these two, one differs from any given owner
)

func (p *ownersPass) op(x harness.Op) {
	p.seq++
	p.watermark.note(x)
	p.reportBefore(p.watermark.low)
	if x.Kind != harness.Acquire && x.Kind != harness.Extend && x.Kind != harness.Release {
		return
	}
	caller, l := ownerOf(x, p.meta), entry(p.locks, x.Key)
	current := p.find(x.Key, caller)
	switch {
	case x.Outcome == harness.Info:
		p.unanswered(l, caller, current, x)
	case x.Kind == harness.Release:
		p.release(l, caller, current, x)
	case x.Outcome == harness.OK:
		p.grant(l, caller, current, x)
	case x.Kind == harness.Extend:
		p.refuse(l, current, x)
	default:
		p.drop(current)
		p.refuseAcquire(l, caller, x)
	}
}

func (p *ownersPass) find(key string, caller owner) *ownersGrant {
	for _, o := range p.current[caller.worker] {
		if o.op.Key == key && o.owner == caller {
			return o
		}
	}
	return nil
}

func (p *ownersPass) drop(current *ownersGrant) {
	if current != nil {
		worker := current.owner.worker
		p.current[worker] = slices.DeleteFunc(p.current[worker], func(g *ownersGrant) bool { return g == current })
	}
}

// unanswered records x, a command that ended in info. Its owner is the parameter caller. The command may be executed at
// any later time.
func (p *ownersPass) unanswered(l *ownersLock, caller owner, current *ownersGrant, x harness.Op) {
	p.pending.add(x, p.meta)
	if current != nil {
		current.unanswered = true
	}
	if x.Kind == harness.Release || x.Kind == harness.Acquire {
		p.drop(current)
	}
	if x.Kind == harness.Release {
		p.giveUp(l, caller, x)
		return
	}
	if len(l.mayTake) < mayTakeKept && !slices.Contains(l.mayTake, caller) {
		l.mayTake = append(l.mayTake, caller)
	}
	p.noteTaking(l, caller, x)
}

// release handles the release x. Whatever its outcome, its owner (the parameter caller) has given up the lock.
func (p *ownersPass) release(l *ownersLock, caller owner, current *ownersGrant, x harness.Op) {
	p.giveUp(l, caller, x)
	if current != nil && x.Outcome == harness.Fail {
		p.refuse(l, current, x)
	}
	p.drop(current)
}

// giveUp records that an owner (the parameter caller) has called the release x. From now on that owner's earlier grants
// do not count. Its refused extends do not count either if x may have caused the refusal.
func (p *ownersPass) giveUp(l *ownersLock, caller owner, x harness.Op) {
	for _, g := range l.grants {
		g.released = g.released || g.owner == caller
	}
	p.dropExplained(l, x, func(r *refusal) bool { return r.owner == caller && r.refused.Kind == harness.Extend })
}

// grant makes x, an ok acquire or extend, the current grant of its owner. If x is an extend, grant judges it first.
func (p *ownersPass) grant(l *ownersLock, caller owner, current *ownersGrant, x harness.Op) {
	late, _ := p.pending.commandsOf(x, p.meta)
	until := late.endOf(x, p.meta.Drift)
	if x.Kind == harness.Extend && current != nil {
		p.extends++
		if b := p.ownerBetween(l, current, x, until); b != nil && !late.maySetLease {
			p.add(reacquireAnomaly(current, b, x))
		}
	}
	p.noteTaking(l, caller, x)
	entries, certainFrom := 0, x.Return
	if current != nil {
		entries = current.entries
		if !current.unanswered && p.endAfter(current, x) > x.Return {
			certainFrom = current.certainFrom
		}
		p.drop(current)
	}
	if x.Kind == harness.Acquire {
		p.grants++
		entries++
	}
	g := &ownersGrant{owner: caller, indexedOp: indexedOp{x, p.seq}, certainFrom: certainFrom, until: until,
		entries: entries}
	l.grants = lastOf(append(l.grants, g), grantsKept)
	p.current[caller.worker] = lastOf(append(p.current[caller.worker], g), maxUnreleased)
}

// ownerBetween returns a grant of another owner that certainly came between the current grant and x, an extend of the
// same owner. That grant was over when x returned. The result is nil if there is none. The parameter until is the
// earliest end of the lease of x.
func (p *ownersPass) ownerBetween(l *ownersLock, current *ownersGrant, x harness.Op, until time.Duration) *ownersGrant {
	for i, b := range l.grants {
		if b.seq > current.seq && b.owner != current.owner && b.op.Return >= p.endAfter(current, x) &&
			p.cameBefore(current, b.op, b.until) && p.cameBefore(b, x, until) &&
			p.isOver(l.grants[i:], b.owner, x) {
			return b
		}
	}
	return nil
}

// endAfter returns the earliest end of the current grant, given that x may have replaced its lease.
func (p *ownersPass) endAfter(current *ownersGrant, x harness.Op) time.Duration {
	return min(current.until, renewedUntil(x, p.meta.Drift))
}

// cameBefore reports whether the grant g certainly came before b, an acquire or extend. The parameter until is the
// earliest end of the lease of b.
func (p *ownersPass) cameBefore(g *ownersGrant, b harness.Op, until time.Duration) bool {
	return g.certainFrom < grantedAfter(b, until, p.meta)
}

// isOver reports whether the last of the owner o's grants had ended, or was released, when x returned. It returns true
// if none of the grants is o's.
func (p *ownersPass) isOver(grants []*ownersGrant, o owner, x harness.Op) bool {
	for _, g := range slices.Backward(grants) {
		if g.owner == o {
			return g.released || g.until <= x.Return
		}
	}
	return true
}

func reacquireAnomaly(current *ownersGrant, b *ownersGrant, x harness.Op) harness.Anomaly {
	return harness.Anomaly{
		Class: harness.SilentReacquire, Key: x.Key, From: current.op.Call, To: x.Return,
		Ops: []harness.Op{current.op, b.op, x},
		Note: fmt.Sprintf("%s extended %s at %s and was told yes, though %s %s it by %s, after %s, by %s: nobody told "+
			"%s that it had lost it",
			clientName(x.Client), x.Key, formatTime(x.Return), clientName(b.op.Client), describeGrant(b.op),
			formatTime(b.op.Return),
			clientName(x.Client), formatTime(current.op.Return), clientName(x.Client)),
	}
}
