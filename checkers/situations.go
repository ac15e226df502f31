package checkers

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Situations counts the situations that a history meets. It sees the operations of a run or of an explorer's schedule
// in order of Return, and nothing else. It skips operations of [harness.HarnessClient].
//
// Only what is certain is counted: a lease has ended only after its latest end, and a lock is held only while its hold
// is certain. Memory is bounded. Of very many keys only the latest 8,192 to 16,384 are watched, and of one worker the
// latest 8 locks. Counts may then be too small.
type Situations struct {
	meta       harness.Meta
	counts     map[harness.SituationName]*harness.Situation
	seenKinds  map[harness.Kind]bool
	rivals     rivals
	unanswered map[int]harness.Op // by worker: its last operation, if that ended in info
	locks      generations[string, *situatedLock]
	owners     map[int][]*ownership // what is known of owners of locks, by worker
	marks      sampledMarks

	restarts []*restart // restarts of primaries in the run; noteSurvivor notes in each what lasted through it
}

// NewSituations returns a counter for a history with that Meta. It uses Workers, Drift and Kinds.
func NewSituations(meta harness.Meta) *Situations {
	return &Situations{
		meta: meta, counts: map[harness.SituationName]*harness.Situation{}, seenKinds: map[harness.Kind]bool{},
		unanswered: map[int]harness.Op{}, owners: map[int][]*ownership{},
	}
}

// situationsByKind lists the situations that operations of each kind can meet.
var situationsByKind = []struct {
	kind  harness.Kind
	names []harness.SituationName
}{
	{harness.Acquire, []harness.SituationName{
		harness.AcquiresAtOnce, harness.AskedInLastInstant, harness.TakenAfterLease, harness.NameBeginsAnother,
	}},
	{harness.Release, []harness.SituationName{
		harness.LeaseEndedInside, harness.ReleaseInLastInstant, harness.ReleaseAfterLease, harness.LateReleaseMeets,
	}},
	{harness.Extend, []harness.SituationName{
		harness.ExtendInLease, harness.ExtendInLastInstant, harness.ExtendAfterLease, harness.LateExtendMeets,
	}},
	{harness.Claim, []harness.SituationName{
		harness.ClaimsAtOnce, harness.AskedAgainEarly, harness.AskedAgainLater, harness.AskedAgainAtEnd,
		harness.AskedAgainAfter,
	}},
	{harness.Confirm, []harness.SituationName{harness.ConfirmAfterTime}},
	{harness.Next, []harness.SituationName{harness.DrawsAtOnce}},
}

// List lists situations in a fixed order: those that were met and, with a count of 0, others that could have been met.
// A situation could have been met if it belongs to a kind of operation that was promised or seen.
func (c *Situations) List() (all []harness.Situation) {
	for _, byKind := range situationsByKind {
		if c.seenKinds[byKind.kind] || slices.Contains(c.meta.Kinds, byKind.kind) {
			all = append(all, c.situations(byKind.names)...)
		}
	}
	if len(all) > 0 {
		all = append(all, c.situations([]harness.SituationName{harness.RetryAfterUnknown})...)
	}
	// Only locks by clocks that round down meet it, so it is not listed with 0.
	if c.counts[harness.TakenAtLeaseEnd] != nil {
		all = append(all, *c.counts[harness.TakenAtLeaseEnd])
	}
	return all
}

func (c *Situations) situations(names []harness.SituationName) (all []harness.Situation) {
	for _, name := range names {
		s := harness.Situation{Name: name}
		if met := c.counts[name]; met != nil {
			s = *met
		}
		all = append(all, s)
	}
	return all
}

// Count returns how often a situation was met so far.
func (c *Situations) Count(name harness.SituationName) int {
	if s := c.counts[name]; s != nil {
		return s.Count
	}
	return 0
}

// meet counts a situation. When the situation is met for the first time, ops are kept as its example. ops have to be in
// order of Call.
func (c *Situations) meet(name harness.SituationName, ops ...harness.Op) {
	s := c.counts[name]
	if s == nil {
		s = &harness.Situation{Name: name, Example: slices.Clone(ops)}
		c.counts[name] = s
	}
	s.Count++
}

// Op handles the next operation.
func (c *Situations) Op(x harness.Op) {
	if x.Client == harness.HarnessClient {
		return
	}
	worker := c.meta.Worker(x.Client)
	c.seenKinds[x.Kind] = true
	c.noteRetry(worker, x)
	switch x.Kind {
	case harness.Acquire:
		c.noteRival(harness.AcquiresAtOnce, worker, x)
		c.noteAcquire(worker, x)
	case harness.Extend:
		c.noteExtend(worker, x)
	case harness.Release:
		c.noteRelease(worker, x)
	case harness.Claim:
		c.noteRival(harness.ClaimsAtOnce, worker, x)
		c.noteClaim(x)
	case harness.Confirm:
		c.noteConfirm(x)
	case harness.Next:
		c.noteRival(harness.DrawsAtOnce, worker, x)
	}
}

// noteRetry counts x if it repeats its worker's last operation, which ended in info.
func (c *Situations) noteRetry(worker int, x harness.Op) {
	if last, ok := c.unanswered[worker]; ok {
		if last.Kind == x.Kind && last.Key == x.Key {
			c.meet(harness.RetryAfterUnknown, last, x)
		}
		delete(c.unanswered, worker)
	}
	if x.Outcome == harness.Info {
		c.unanswered[worker] = x
	}
}

// noteRival counts x if x meets a rival: two workers asked for one key at the same time, and at least one of them got
// it.
func (c *Situations) noteRival(name harness.SituationName, worker int, x harness.Op) {
	if other, ok := c.rivals.record(x, worker, gotIt(x)); ok {
		c.meet(name, byCall(other, x)...)
	}
}

// gotIt reports whether x, an operation that can contend, got what it asked for.
func gotIt(x harness.Op) bool {
	return x.Outcome == harness.OK && (x.Kind != harness.Claim || x.Result == harness.ResultFirst)
}

func byCall(x, y harness.Op) []harness.Op {
	if y.Call < x.Call {
		x, y = y, x
	}
	return []harness.Op{x, y}
}

// isInLastInstant reports whether x may have been executed in the last twentieth of the lease or window that op asked
// for. It returns false if x was called after that lease or window had certainly ended.
func (c *Situations) isInLastInstant(op, x harness.Op) bool {
	end := harness.EarliestEnd(op.Call, op.TTL, c.meta.Drift)
	return end < forever && x.Return >= end-op.TTL/20 && x.Call < leaseOver(op, c.meta.Drift)
}

// isOver reports whether the lease or window that op asked for had certainly ended by the Call of x.
func (c *Situations) isOver(op, x harness.Op) bool { return x.Call > leaseOver(op, c.meta.Drift) }

// watchedKeys bounds the keys of one generation.
const watchedKeys = 8192

// generations is a map that keeps the keys that were written lately, in two generations. It forgets all other keys.
type generations[K comparable, V any] struct{ young, old map[K]V }

func (g *generations[K, V]) get(k K) (V, bool) {
	if v, ok := g.young[k]; ok {
		return v, true
	}
	v, ok := g.old[k]
	return v, ok
}

func (g *generations[K, V]) put(k K, v V) {
	if _, there := g.young[k]; !there && (g.young == nil || len(g.young) >= watchedKeys) {
		g.young, g.old = map[K]V{}, g.young
	}
	g.young[k] = v
}

// noteClaim counts the claim x by the age of the mark that its message already had. If x was answered "first", it keeps
// the mark that x set.
func (c *Situations) noteClaim(x harness.Op) {
	if x.Outcome != harness.OK {
		return
	}
	mark, ok := c.marks.lastMark(x.Key)
	if ok {
		c.noteSurvivor(mark, x)
	}
	if ok && x.Call > mark.Return && mark.TTL > 0 {
		if name := c.situationOfAge(mark, x); name != "" {
			c.meet(name, mark, x)
		}
	}
	if x.Result == harness.ResultFirst {
		c.marks.put(x)
	}
}

// situationOfAge returns the situation of x, which claims a message again. It depends on the age of the mark: the
// parameter mark is the claim or confirm that marked the message. The result is "" if x came so close to the end of the
// window that the message may or may not have been marked.
func (c *Situations) situationOfAge(mark, x harness.Op) harness.SituationName {
	end := harness.EarliestEnd(mark.Call, mark.TTL, c.meta.Drift)
	switch {
	case c.isOver(mark, x):
		return harness.AskedAgainAfter
	case x.Return >= end:
		return ""
	case x.Return >= mark.Call+mark.TTL-mark.TTL/20:
		return harness.AskedAgainAtEnd
	case x.Return < mark.Call+mark.TTL/3:
		return harness.AskedAgainEarly
	}
	return harness.AskedAgainLater
}

// noteConfirm counts the confirm x if it came after the lease of its claim. If x was ok, it keeps the mark that x set.
func (c *Situations) noteConfirm(x harness.Op) {
	mark, ok := c.marks.lastMark(x.Key)
	if ok && mark.Kind == harness.Claim && c.meta.Worker(mark.Client) == c.meta.Worker(x.Client) && c.isOver(mark, x) {
		c.meet(harness.ConfirmAfterTime, mark, x)
	}
	if x.Outcome == harness.OK {
		c.marks.put(x)
	}
}

// certainUntil returns the earliest end of the lease or window that op asked for.
func (c *Situations) certainUntil(op harness.Op) time.Duration { return op.HeldUntil(c.meta.Drift) }
