package checkers

import (
	"context"
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Stuck returns the checker of deadlock freedom: after an owner has crashed, its lock can be acquired again once the
// lease has ended.
//
// A probe is an acquire by [harness.HarnessClient] after the load. A probe P that the lock refused (Outcome fail, and
// Err empty or [harness.Held]) is a [harness.StuckLock] if
//
//   - P.Call > Return + TTL*(1+Meta.Drift) of every earlier acquire and extend of its Key that did not fail, those of
//     the harness included. There is at least one, and none has TTL 0, which never ends. A TTL of a millisecond or more
//     counts as one millisecond more, less a nanosecond: Redis counts in whole milliseconds and keeps a key until the
//     last one has passed;
//   - no client's acquire or extend of that Key was under way when P returned, apart from those that failed;
//   - no later acquire or extend of that Key is ok: a lock that is granted again was not stuck.
//
// Each lock is reported once, at the end, for the first probe that shows it. A probe is inconclusive if it failed for
// another reason, ended in info, or was refused while a lease may not have ended. If a lock is neither stuck nor was
// granted to a probe, the verdict is Unknown. It is also Unknown for a history without probes.
//
// The harness promises to probe only when no client is left that could act. By then no client's command can still be
// executed, and none was executed after its operation's Return. So an acquire in info has started its lease by then, or
// never will. It also promises that the store was empty at the start. Sources: the deadlock freedom that the Redis
// documentation, "Distributed locks", asks for; soundness rules 1, 2 and 5.
//
// Time is O(1) per operation. Memory is bounded by the keys, at about 500 bytes for each, or 900 if it is stuck.
func Stuck() harness.Checker { return stuck{} }

type stuck struct{}

func (stuck) Name() string { return "stuck" }

func (c stuck) Check(ctx context.Context, h harness.History, report func(harness.Anomaly)) harness.Judgement {
	p := &stuckPass{tally: newTally(h, report), locks: map[string]*probedLock{}}
	err := eachOp(ctx, h, p.op)
	undecidedDoubt := p.end()
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid:  fmt.Sprintf("all of %d locks tried after the load could be acquired", len(p.tried)),
		absent: []string{doubtIf(p.probes == 0, "no lock was tried after the load")}, doubts: []string{undecidedDoubt},
		figures: []harness.Figure{
			figureTried.Count(len(p.tried)), figureStuck.Count(p.counts[harness.StuckLock]),
			figureProbes.Count(p.probes),
			figureInconclusive.Count(p.inconclusive),
		},
	})
}

// stuckPass is one pass over a history.
type stuckPass struct {
	*tally
	locks                map[string]*probedLock
	tried                []*probedLock // locks that were probed, in order of their first probe
	probes, inconclusive int
}

// probedLock holds what is known about one key.
type probedLock struct {
	leasesOver time.Duration // latest end of all leases asked for so far
	last       harness.Op    // the last ok acquire or extend
	unanswered harness.Op    // the last acquire or extend in info, unless an acquire called later was ok
	tried      bool          // the lock was probed
	granted    bool          // the lock was granted to the harness

	// What a probe shows, unless a later operation disproves it.
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
	l := entry(p.locks, x.Key)
	if probe {
		p.probe(l, x)
	}
	if x.Outcome != harness.Fail {
		l.noteLease(x, lastKept(x, p.meta.Drift))
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
		l.granted = true
	case x.Outcome != harness.Fail || x.Err != "" && x.Err != harness.Held || !l.mayBeTaken() || x.Call <= l.leasesOver:
		p.inconclusive++
	case l.stuck == nil:
		l.stuck = l.anomaly(x)
	}
}

// mayBeTaken reports whether an operation was seen that can have taken the lock.
func (l *probedLock) mayBeTaken() bool { return l.last.Kind != "" || l.unanswered.Kind != "" }

// noteLease records x, which may have started or renewed a lease. The lease ends at latestEnd at the latest. noteLease
// withdraws the finding about the lock if x disproves it.
func (l *probedLock) noteLease(x harness.Op, latestEnd time.Duration) {
	l.leasesOver = max(l.leasesOver, latestEnd)
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

// end reports the stuck locks. If there are locks that were neither stuck nor granted, it returns a reason for Unknown.
func (p *stuckPass) end() string {
	remaining := 0
	for _, l := range p.tried {
		switch {
		case l.stuck != nil:
			p.add(*l.stuck)
		case !l.granted:
			remaining++
		}
	}
	return doubtIf(remaining > 0, "%d of %d locks tried were not granted, though nothing shows that every "+
		"lease was over", remaining, len(p.tried))
}

// anomaly returns the anomaly that the probe shows, with the operations that may have taken the lock last.
func (l *probedLock) anomaly(probe harness.Op) *harness.Anomaly {
	a := harness.Anomaly{
		Class: harness.StuckLock, Key: probe.Key, From: probe.Call, To: probe.Return,
		Note: fmt.Sprintf("%s is refused at %s although every lease ended by %s at the latest; %s",
			probe.Key, formatTime(probe.Return), formatTime(l.leasesOver), l.suspectName()),
		Spans: pastLease(l.lastTaker(), l.leasesOver, probe),
	}
	for _, x := range []harness.Op{l.last, l.unanswered, probe} {
		if x.Kind != "" {
			a.Ops = append(a.Ops, x)
			a.From = min(a.From, x.Call)
		}
	}
	return &a
}

// lastTaker returns the operation that may have left the lock behind: one that was never answered or, if there is none,
// the last ok one.
func (l *probedLock) lastTaker() harness.Op {
	if l.unanswered.Kind != "" {
		return l.unanswered
	}
	return l.last
}

// suspectName says which client may have left the lock behind, and how.
func (l *probedLock) suspectName() string {
	x := l.lastTaker()
	if x.Outcome != harness.OK {
		return fmt.Sprintf("%s's %s at %s was never answered", clientName(x.Client), x.Kind, formatTime(x.Call))
	}
	return fmt.Sprintf("%s %s it last, by %s", clientName(x.Client), describeGrant(x), formatTime(x.Return))
}
