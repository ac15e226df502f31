package checkers

import (
	"context"
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Stuck returns the checker of deadlock freedom: a lock whose owner crashed can be acquired again when the lease is over.
//
// A probe is an acquire by [harness.HarnessClient] after the load. A probe P that the lock refused (Outcome fail, and Err
// empty or [harness.Held]) is a [harness.StuckLock] if
//
//   - P.Call > Return + TTL*(1+Meta.Drift) of every acquire and extend of its Key before it that did not fail, those of
//     the harness among them. There is at least one, and none has TTL 0, which is never over. A TTL of a millisecond or
//     more counts as one more, less a nanosecond: Redis counts in whole milliseconds and keeps a key until its last one has passed;
//   - no acquire or extend of that key by a client, that did not fail, turns out later to have been called by the time of
//     P.Return, and no later one is ok: what is granted again was not stuck.
//
// Each lock is reported once, at the end, for its first such probe. A probe that failed for any other reason, that ended
// in info, or that was refused while a lease may not be over, is not conclusive. A lock that is not stuck and was granted to
// no probe makes the verdict Unknown, and so does a history without probes.
//
// The harness promises to probe only when no client is left that could still act, and nothing that one has sent can
// still be executed or was executed after the Return of its operation: an acquire that ended in info has then begun its
// lease by that time, or never will. It promises a store that was empty at the start. Sources: the deadlock
// freedom that Redis documentation, "Distributed locks", asks for; soundness rules 1, 2 and 5.
//
// Time is O(1) an operation. Memory is bounded by the keys, about 500 bytes each, 900 where stuck.
func Stuck() harness.Checker { return stuck{} }

type stuck struct{}

func (stuck) Name() string { return "stuck" }

func (c stuck) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := &stuckPass{tally: newTally(h, found), locks: map[string]*probedLock{}}
	err := eachOp(ctx, h, p.op)
	undecided := p.end()
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid:  fmt.Sprintf("all of %d locks tried after the load could be acquired", len(p.tried)),
		absent: []string{p.none()}, doubts: []string{undecided},
		figures: []harness.Figure{
			figureTried.Count(len(p.tried)), figureStuck.Count(p.counts[harness.StuckLock]), figureProbes.Count(p.probes),
			figureInconclusive.Count(p.inconclusive),
		},
	})
}

// stuckPass is one pass over a history.
type stuckPass struct {
	*tally
	locks                map[string]*probedLock
	tried                []*probedLock // in order of their first probe
	probes, inconclusive int
}

// probedLock holds what is known about one key.
type probedLock struct {
	over       time.Duration // when every lease asked for so far is over at the latest
	last       harness.Op    // the last acquire or extend that was ok
	unanswered harness.Op    // the last that ended in info, unless an acquire that was called later is ok
	tried      bool          // probed
	free       bool          // granted to the harness

	// What a probe shows, unless something later shows that it is not so.
	stuck *harness.Anomaly
}

func (p *stuckPass) op(x harness.Op) {
	if x.Kind != harness.Acquire && x.Kind != harness.Extend {
		return
	}
	probe := x.Kind == harness.Acquire && x.Client == harness.HarnessClient
	if x.Outcome == harness.Fail && !probe {
		return
	}
	l := p.locks[x.Key]
	if l == nil {
		l = &probedLock{}
		p.locks[x.Key] = l
	}
	if probe {
		p.probe(l, x)
	}
	if x.Outcome != harness.Fail {
		l.lease(x, lastKept(x, p.meta.Drift))
	}
}

// probe judges the probe x.
func (p *stuckPass) probe(l *probedLock, x harness.Op) {
	p.probes++
	if !l.tried {
		l.tried = true
		p.tried = append(p.tried, l)
	}
	switch {
	case x.Outcome == harness.OK:
		l.free = true
	case x.Outcome != harness.Fail || x.Err != "" && x.Err != harness.Held || !l.known() || x.Call <= l.over:
		p.inconclusive++
	case l.stuck == nil:
		l.stuck = l.anomaly(x)
	}
}

// known reports whether anything was seen that can have taken the lock.
func (l *probedLock) known() bool { return l.last.Kind != "" || l.unanswered.Kind != "" }

// lease notes x, which may have taken or renewed the lock until over, and withdraws what that shows to be wrong.
func (l *probedLock) lease(x harness.Op, over time.Duration) {
	l.over = max(l.over, over)
	if l.stuck != nil && (x.Outcome == harness.OK || x.Client != harness.HarnessClient && x.Call <= l.stuck.To) {
		l.stuck = nil
	}
	if x.Outcome != harness.OK {
		l.unanswered = x
		return
	}
	l.last = x
	if x.Kind == harness.Acquire && x.Call > l.unanswered.Return {
		l.unanswered = harness.Op{}
	}
}

// end reports the locks that are stuck, and returns a doubt if nothing is known of others.
func (p *stuckPass) end() string {
	undecided := 0
	for _, l := range p.tried {
		switch {
		case l.stuck != nil:
			p.add(*l.stuck)
		case !l.free:
			undecided++
		}
	}
	if undecided == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d locks tried were not granted, though nothing shows that every lease was over",
		undecided, len(p.tried))
}

// none returns a doubt if the history has no probes.
func (p *stuckPass) none() string {
	if p.probes > 0 {
		return ""
	}
	return "no lock was tried after the load"
}

// anomaly returns the anomaly that probe shows, with the operation that may have taken the lock last.
func (l *probedLock) anomaly(probe harness.Op) *harness.Anomaly {
	a := harness.Anomaly{
		Class: harness.StuckLock, Key: probe.Key, From: probe.Call, To: probe.Return,
		Note: fmt.Sprintf("%s is refused at %s although every lease ended by %s at the latest; %s",
			probe.Key, formatTime(probe.Return), formatTime(l.over), l.suspectName()),
		Spans: pastLease(l.mayHaveLeft(), l.over, probe),
	}
	for _, x := range []harness.Op{l.last, l.unanswered, probe} {
		if x.Kind != "" {
			a.Ops = append(a.Ops, x)
			a.From = min(a.From, x.Call)
		}
	}
	return &a
}

// mayHaveLeft returns the operation that may have left the lock behind: one that was never answered, or else the last owner's.
func (l *probedLock) mayHaveLeft() harness.Op {
	if l.unanswered.Kind != "" {
		return l.unanswered
	}
	return l.last
}

// suspectName names the client that may have left the lock behind.
func (l *probedLock) suspectName() string {
	x := l.mayHaveLeft()
	if x.Outcome != harness.OK {
		return fmt.Sprintf("%s's %s at %s was never answered", clientName(x.Client), x.Kind, formatTime(x.Call))
	}
	return fmt.Sprintf("%s %s it last, by %s", clientName(x.Client), describeGrant(x), formatTime(x.Return))
}
