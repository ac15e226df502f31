package checkers

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Situations counts, operation by operation, the situations that a history meets. It sees operations in order of Return,
// of a run or of a schedule of the explorer, and reads nothing but them. Operations of [harness.HarnessClient] are passed
// over.
//
// Only what is certain is counted: a lease counts as over when it can last no longer, and a lock as held when it certainly is.
// Memory is bounded: of very many keys only the latest 32,768 to 65,536 are watched, so that counts may be too small,
// and of one worker the latest 8 locks.
type Situations struct {
	meta    harness.Meta
	met     map[harness.SituationName]*harness.Situation
	seen    map[harness.Kind]bool
	rivals  rivals
	unknown map[int]harness.Op // by worker: its last operation, if that ended in info
	locks   generations[string, *situatedLock]
	owners  map[int][]*ownership // by worker
	marks   sampledMarks

	restarts []*restart // what lived through them is noted
}

// NewSituations returns a counter for a history with that Meta, of which Workers, Drift and Kinds are used.
func NewSituations(meta harness.Meta) *Situations {
	return &Situations{
		meta: meta, met: map[harness.SituationName]*harness.Situation{}, seen: map[harness.Kind]bool{},
		unknown: map[int]harness.Op{}, owners: map[int][]*ownership{},
	}
}

// situationsOf lists the situations that operations of a kind can meet.
var situationsOf = []struct {
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
		harness.ClaimsAtOnce, harness.AskedAgainEarly, harness.AskedAgainLater, harness.AskedAgainAtEnd, harness.AskedAgainAfter,
	}},
	{harness.Confirm, []harness.SituationName{harness.ConfirmAfterTime}},
	{harness.Next, []harness.SituationName{harness.DrawsAtOnce}},
}

// List lists the situations that were met and, with a count of 0, those that operations of the kinds promised or seen
// could have met, in a fixed order.
func (c *Situations) List() (all []harness.Situation) {
	for _, of := range situationsOf {
		if c.seen[of.kind] || slices.Contains(c.meta.Kinds, of.kind) {
			all = append(all, c.situations(of.names)...)
		}
	}
	if len(all) > 0 {
		all = append(all, c.situations([]harness.SituationName{harness.RetryAfterUnknown})...)
	}
	if c.met[harness.TakenAtLeaseEnd] != nil { // only locks by clocks that are rounded down meet it, so it is not missed
		all = append(all, *c.met[harness.TakenAtLeaseEnd])
	}
	return all
}

func (c *Situations) situations(names []harness.SituationName) (all []harness.Situation) {
	for _, name := range names {
		s := harness.Situation{Name: name}
		if met := c.met[name]; met != nil {
			s = *met
		}
		all = append(all, s)
	}
	return all
}

// Count returns how often a situation was met so far.
func (c *Situations) Count(name harness.SituationName) int {
	if s := c.met[name]; s != nil {
		return s.Count
	}
	return 0
}

// meet counts a situation. The operations are those of the first one, in order of Call.
func (c *Situations) meet(name harness.SituationName, ops ...harness.Op) {
	s := c.met[name]
	if s == nil {
		s = &harness.Situation{Name: name, Example: slices.Clone(ops)}
		c.met[name] = s
	}
	s.Count++
}

// Op looks at the next operation.
func (c *Situations) Op(x harness.Op) {
	if x.Client == harness.HarnessClient {
		return
	}
	worker := c.meta.Worker(x.Client)
	c.seen[x.Kind] = true
	c.noteRetry(worker, x)
	switch x.Kind {
	case harness.Acquire:
		c.noteRival(harness.AcquiresAtOnce, worker, x)
		c.acquire(worker, x)
	case harness.Extend:
		c.extend(worker, x)
	case harness.Release:
		c.release(worker, x)
	case harness.Claim:
		c.noteRival(harness.ClaimsAtOnce, worker, x)
		c.claim(x)
	case harness.Confirm:
		c.confirm(x)
	case harness.Next:
		c.noteRival(harness.DrawsAtOnce, worker, x)
	}
}

// noteRetry notes that x asks again for what is not known to have happened.
func (c *Situations) noteRetry(worker int, x harness.Op) {
	if last, ok := c.unknown[worker]; ok {
		if last.Kind == x.Kind && last.Key == x.Key {
			c.meet(harness.RetryAfterUnknown, last, x)
		}
		delete(c.unknown, worker)
	}
	if x.Outcome == harness.Info {
		c.unknown[worker] = x
	}
}

// noteRival notes that two workers asked for one key at one time, and at least one of them got it.
func (c *Situations) noteRival(name harness.SituationName, worker int, x harness.Op) {
	if other, ok := c.rivals.met(x, worker, gotIt(x)); ok {
		c.meet(name, byCall(other, x)...)
	}
}

// gotIt reports whether x, which contends, got what it asked for.
func gotIt(x harness.Op) bool {
	return x.Outcome == harness.OK && (x.Kind != harness.Claim || x.Result == harness.ResultFirst)
}

func byCall(x, y harness.Op) []harness.Op {
	if y.Call < x.Call {
		x, y = y, x
	}
	return []harness.Op{x, y}
}

// lastInstant reports whether x met the last instant of the lease or window that op asked for: its last twentieth, as long
// as it is certainly not over.
func (c *Situations) lastInstant(op, x harness.Op) bool {
	end := harness.EarliestEnd(op.Call, op.TTL, c.meta.Drift)
	return end < forever && x.Return >= end-op.TTL/20 && x.Call < leaseOver(op, c.meta.Drift)
}

// isOver reports whether the lease or window that op asked for was certainly over when x was called.
func (c *Situations) isOver(op, x harness.Op) bool { return x.Call > leaseOver(op, c.meta.Drift) }

// watchedKeys bounds the keys that a generation holds.
const watchedKeys = 8192

// generations is a map that forgets what was not written for long: it keeps the latest keys in two generations.
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

// claim notes at what age a message was asked for again.
func (c *Situations) claim(x harness.Op) {
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

// situationOfAge returns the situation of a message that was marked by mark and asked for again by x; empty: so near to the end of the
// window that nothing can be said of its mark.
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

// confirm notes that a claim was confirmed when its lease was over, and that the message is marked for longer now.
func (c *Situations) confirm(x harness.Op) {
	mark, ok := c.marks.lastMark(x.Key)
	if ok && mark.Kind == harness.Claim && c.meta.Worker(mark.Client) == c.meta.Worker(x.Client) && c.isOver(mark, x) {
		c.meet(harness.ConfirmAfterTime, mark, x)
	}
	if x.Outcome == harness.OK {
		c.marks.put(x)
	}
}

// certainUntil returns when the lease or window that op asked for stops being certain.
func (c *Situations) certainUntil(op harness.Op) time.Duration { return op.HeldUntil(c.meta.Drift) }
