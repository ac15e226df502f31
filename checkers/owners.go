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
// An owner is a worker together with Arg. Its current grant A is its last ok acquire or extend of a Key, unless it has
// called a release since, or an acquire that was not ok. [Mutex] defines when a hold can end and which late commands
// count. A grant B certainly came before an operation X if B.Return < X.Call, or if B returned before X did and before
// X's hold can have ended. Where B renewed a grant that cannot have ended by then, the earlier grant counts in its
// place.
//
// An ok extend X is a [harness.SilentReacquire] if another owner was granted the lock by an ok acquire or extend B in
// between, and the two never were owners at one time:
//
//   - B returned between A and X, certainly came after A, and certainly came before X;
//   - B returned after A's lease can have ended;
//   - when X returned, the last lease of B's owner had ended, or its release had returned.
//
// Two owners at one time are for [Mutex] to report. If X's owner has an acquire or extend in info, nothing is said:
// that may take the lock anew at any later time. An extend granted after its lease is no violation if nobody else had
// the lock meanwhile.
//
// A release or extend X that was refused (Outcome fail, and Err empty or [harness.NotMine]) is a
// [harness.RefusedRelease] if all of these hold:
//
//   - X returned before A's lease can have ended. No command of its owner since A ended in info. If X is a release, its
//     owner was granted the lock only once since its last release: after two grants it may have to release twice.
//   - The lock was still taken: another owner's acquire E was refused (Err empty or [harness.Held]), called after X had
//     returned and answered before that lease can have ended. If X is an extend, its owner called no release by the
//     Return of E.
//   - Nobody can have taken the lock anew. No ok acquire or extend of another owner returned after A.Call and was
//     called by the Return of E. No acquire or extend called by then, by anybody, ended in info. X's owner called no
//     further acquire by then. An acquire that failed for another reason than a refusal may have had the lock for a
//     while, so it counts as ok.
//   - No fault may have made Redis forget anything from A.Call to the Return of E.
//
// So a lock whose lease is shorter than asked for is no violation: it is free when it refuses its owner, and the next
// one gets it. Nor is a release that its client sent twice because the first answer was lost: the first one released
// the lock.
//
// Each such operation is one violation. Porcupine is not asked. Sources: the contract of workloads.Locker and
// workloads.Extender; soundness rules 1, 2 and 5.
//
// Time is O(1) per operation. Memory is bounded: the latest 8 grants of each worker, the latest 16 of each lock, and 16
// refusals of each lock without evidence yet. A refusal with evidence is reported once no operation can come any more
// that explains it. Up to 4,096 wait for that at a time; more of them, and a record that stops before, leave doubts.
func Owners() harness.Checker { return owners{} }

type owners struct{}

func (owners) Name() string { return "owners" }

func (c owners) Check(ctx context.Context, h harness.History, report func(harness.Anomaly)) harness.Judgement {
	p := &ownersPass{tally: newTally(h, report), faults: harness.Influences(h.Faults),
		grantsOf: map[int][]*currentGrant{}, locks: map[string]*ownersLock{},
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
	grantsOf  map[int][]*currentGrant // by worker, the latest last
	locks     map[string]*ownersLock
	pending   lateOwners
	awaiting  []*refusal // those with evidence, in order of its Return
	seq       int        // place of the current operation in the history, from 1
	grants    int
	extends   int // ok ones, of owners with a known grant
	refusals  int // refused extends and releases of such owners
	unjudged  int // refusals with evidence for which there was no room
}

// currentGrant is the current grant of an owner.
type currentGrant struct {
	owner owner
	indexedOp
	// certainFrom is the time from which on the owner certainly had the lock: its Return, or that of an earlier grant
	// which it and others renewed in time.
	certainFrom time.Duration
	until       time.Duration // its earliest end
	entries     int           // ok acquires since the last release
	unanswered  bool          // a command in info came after it
}

// ownersLock is one lock.
type ownersLock struct {
	grants      []*pastGrant  // the latest ones
	refusals    []*refusal    // those without evidence
	mayTake     []owner       // owners that may take it at any later time, two at most
	givenBackAt time.Duration // the Return of the last failed acquire that may have had the lock for a while
	waiting     int           // refusals with evidence that are not reported yet
}

// pastGrant is a grant of a lock, to any owner.
type pastGrant struct {
	owner owner
	indexedOp
	certainFrom time.Duration // as in currentGrant
	until       time.Duration // its earliest end, as known when it returned
	released    bool
}

const (
	grantsKept  = 16 // grants and refusals kept for one lock
	mayTakeKept = 2  // owners kept that may take a lock later; with two, one of them differs from any given owner
)

func (p *ownersPass) op(x harness.Op) {
	p.seq++
	p.watermark.note(x)
	p.reportBefore(p.watermark.low)
	if x.Kind != harness.Acquire && x.Kind != harness.Extend && x.Kind != harness.Release {
		return
	}
	who, l := ownerOf(x, p.meta), entry(p.locks, x.Key)
	current := p.find(x.Key, who)
	switch {
	case x.Outcome == harness.Info:
		p.unanswered(l, who, current, x)
	case x.Kind == harness.Release:
		p.release(l, who, current, x)
	case x.Outcome == harness.OK:
		p.grant(l, who, current, x)
	case x.Kind == harness.Extend:
		p.refuse(l, current, x)
	default:
		p.drop(current, who)
		p.refuseAcquire(l, who, x)
	}
}

func (p *ownersPass) find(key string, who owner) *currentGrant {
	for _, o := range p.grantsOf[who.worker] {
		if o.op.Key == key && o.owner == who {
			return o
		}
	}
	return nil
}

func (p *ownersPass) drop(o *currentGrant, who owner) {
	if o != nil {
		p.grantsOf[who.worker] = slices.DeleteFunc(p.grantsOf[who.worker],
			func(other *currentGrant) bool { return other == o })
	}
}

// unanswered notes x, a command that may be executed at any later time.
func (p *ownersPass) unanswered(l *ownersLock, who owner, current *currentGrant, x harness.Op) {
	p.pending.add(x, p.meta)
	if current != nil {
		current.unanswered = true
	}
	if x.Kind == harness.Release || x.Kind == harness.Acquire {
		p.drop(current, who)
	}
	if x.Kind == harness.Release {
		p.giveUp(l, who, x)
		return
	}
	if len(l.mayTake) < mayTakeKept && !slices.Contains(l.mayTake, who) {
		l.mayTake = append(l.mayTake, who)
	}
	p.noteTaking(l, who, x)
}

// release notes the release x. Whatever its outcome, its owner no longer counts on the lock.
func (p *ownersPass) release(l *ownersLock, who owner, current *currentGrant, x harness.Op) {
	p.giveUp(l, who, x)
	if current != nil && x.Outcome == harness.Fail {
		p.refuse(l, current, x)
	}
	p.drop(current, who)
}

// giveUp notes that who called the release x.
func (p *ownersPass) giveUp(l *ownersLock, who owner, x harness.Op) {
	for _, g := range l.grants {
		g.released = g.released || g.owner == who
	}
	p.dropExplained(l, x, func(r *refusal) bool { return r.owner == who && r.refused.Kind == harness.Extend })
}

// grant judges x if it is an ok extend, and makes the ok acquire or extend x the current grant of its owner.
func (p *ownersPass) grant(l *ownersLock, who owner, current *currentGrant, x harness.Op) {
	late, _ := p.pending.commandsOf(x, p.meta)
	until := late.endOf(x, p.meta.Drift)
	if x.Kind == harness.Extend && current != nil {
		p.extends++
		if b := p.ownerBetween(l, current, x, until); b != nil && !late.maySetLease {
			p.add(reacquireAnomaly(current, b, x))
		}
	}
	p.noteTaking(l, who, x)
	entries, certainFrom := 0, x.Return
	if current != nil {
		entries = current.entries
		if !current.unanswered && p.endAfter(current, x) > x.Return {
			certainFrom = current.certainFrom
		}
		p.drop(current, who)
	}
	l.grants = lastOf(append(l.grants,
		&pastGrant{owner: who, indexedOp: indexedOp{x, p.seq}, certainFrom: certainFrom, until: until}), grantsKept)
	if x.Kind == harness.Acquire {
		p.grants++
		entries++
	}
	current = &currentGrant{owner: who, indexedOp: indexedOp{x, p.seq}, certainFrom: certainFrom, until: until,
		entries: entries}
	p.grantsOf[who.worker] = lastOf(append(p.grantsOf[who.worker], current), maxUnreleased)
}

// ownerBetween returns a grant of another owner that certainly came between the current grant and its extend x, and has
// ended. The lease of x ends at until or later. It returns nil if there is none.
func (p *ownersPass) ownerBetween(l *ownersLock, current *currentGrant, x harness.Op, until time.Duration) *pastGrant {
	for i, b := range l.grants {
		if b.seq > current.seq && b.owner != current.owner && b.op.Return >= p.endAfter(current, x) &&
			p.cameBefore(current.certainFrom, b.op, b.until) && p.cameBefore(b.certainFrom, x, until) &&
			p.isOver(l.grants[i:], b.owner, x) {
			return b
		}
	}
	return nil
}

// endAfter returns the earliest end of the current grant if x may have started a new lease.
func (p *ownersPass) endAfter(current *currentGrant, x harness.Op) time.Duration {
	return min(current.until, renewedUntil(x, p.meta.Drift))
}

// cameBefore reports whether a grant that is certain from certainFrom came before b, whose lease ends at until or
// later.
func (p *ownersPass) cameBefore(certainFrom time.Duration, b harness.Op, until time.Duration) bool {
	return certainFrom < grantedAfter(b, until, p.meta)
}

// isOver reports whether the last of these grants by that owner had ended, or was released, when x returned.
func (p *ownersPass) isOver(grants []*pastGrant, who owner, x harness.Op) bool {
	for _, g := range slices.Backward(grants) {
		if g.owner == who {
			return g.released || g.until <= x.Return
		}
	}
	return true
}

func reacquireAnomaly(current *currentGrant, b *pastGrant, x harness.Op) harness.Anomaly {
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
