package explore

import (
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
)

// This file learns what clients do after what they have read.

// noteAct keeps what an actor has done without waiting: it ended an operation or went to sleep. When the actor waits
// again, learnMind stores everything that was kept since its last wait.
func (a *actor) noteAct(done model.Act) {
	if a.live.memory != nil {
		done.Op.Call, done.Op.Return = 0, 0
		a.acts = append(a.acts, done)
	}
}

// learnMind stores what a client has done between its last two waits. The error wraps schedule.ErrNotRepeated if the
// client had read the same in an earlier schedule and then did something else.
func (ex *live) learnMind(a *actor) error {
	m := ex.memory
	if !ex.learns() {
		return nil
	}
	first := ex.actors[a.index]
	if why := ex.whyUnknowable(a); why != "" {
		m.Disable("%s", why)
		return nil
	}
	acts := a.acts
	a.acts = nil
	watches := ex.dialerOf(a.index).watching()
	if watches > 1 || watches > 0 && a.hasThreads() {
		m.Disable("a client watches keys on two connections, or in several threads")
	}
	if watches == 0 {
		a.watched = nil
	}
	if first.clockReads > first.records+1 || slices.ContainsFunc(acts, func(d model.Act) bool {
		return d.Op.Until != 0 || d.Op.Due != 0
	}) {
		m.Disable("a client looks at the time of the schedule")
	}
	did := model.Reaction{Acts: acts, Stop: model.Stop{Kind: a.parkedAt.Kind}, Watches: watches > 0,
		Threads: len(ex.threadsOf(a.index)) - 1, Cancelled: ex.cancelled(a.index)}
	switch did.Stop.Kind {
	case model.InCommand:
		did.Stop.Pending = a.parkedAt.Pending.Snapshot()
	case model.InJoin:
		did.Stop.Joins = a.parkedAt.thread.thread
	case model.InSleep, model.InClock, model.InMillis, model.InWork, model.InNap, model.AtEnd:
	default:
		m.Disable("a client waits for something other than an answer")
	}
	a.lastEvent.Promoted, a.lastEvent.Thread = ex.promoted, a.thread
	next, err := m.Learn(a, first.mind, a.lastEvent, did, ex.w.Scripts)
	if err == nil {
		first.mind = next
	}
	return err
}

// whyUnknowable says why a client's next action may depend on more than what the client has read; empty: it depends on
// nothing else. The argument a is the thread of the client that has just begun to wait.
func (ex *live) whyUnknowable(a *actor) string {
	if len(ex.waiters) > 0 {
		return "a client waits in Redis, or listens to messages"
	}
	for _, t := range ex.threadsOf(a.index) {
		if t.subscriptionConn != nil {
			return "a client listens to messages"
		}
		if t != a && len(t.acts) > 0 {
			return "one thread of a client acts for another"
		}
	}
	return ""
}

// cancelled returns a bit for each of a client's threads: bit i is set if thread i sleeps and the context of its sleep
// was canceled. A crashed client has no bits set, since its threads do the same in either case.
func (ex *live) cancelled(client int) (bits uint32) {
	for _, t := range ex.threadsOf(client) {
		if !t.done && !t.isCrashed() && t.parkedAt.Kind == model.InNap && t.parkedAt.isCancelled() {
			bits |= 1 << t.thread
		}
	}
	return bits
}

// watching counts the connections on which the client watches keys.
func (s *dialer) watching() (n int) {
	for _, c := range s.watchers {
		if len(c.Watched) > 0 && !c.isGone() && c.wire != nil {
			n++
		}
	}
	return n
}
