package explore

import (
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
)

// This file learns what clients do after what they have read.

// noteAct keeps an act of the actor, until it waits again.
func (a *actor) noteAct(done model.Act) {
	if a.live.memory != nil {
		done.Op.Call, done.Op.Return = 0, 0
		a.acts = append(a.acts, done)
	}
}

// learnMind keeps what a client that has just come to its next wait has done since the last. The error wraps schedule.ErrNotRepeated if it did
// something else the last time.
func (ex *live) learnMind(a *actor) error {
	m := ex.memory
	if !ex.learns() {
		return nil
	}
	if a.mind == nil || a.hasThreads() || len(ex.waiters) > 0 {
		m.Disable("a client has several threads")
		return nil
	}
	acts := a.acts
	a.acts = nil
	watches := ex.dialerOf(a.index).watching()
	if watches > 1 {
		m.Disable("a client watches keys on two connections")
	}
	if watches == 0 {
		a.watched = nil
	}
	if a.clockReads > a.records+1 || slices.ContainsFunc(acts, func(d model.Act) bool { return d.Op.Until != 0 || d.Op.Due != 0 }) {
		m.Disable("a client looks at the time of the schedule")
	}
	did := model.Did{Acts: acts, Stop: model.Stop{Kind: a.parkedAt.Kind}, Watches: watches > 0}
	switch did.Stop.Kind {
	case model.InCommand:
		did.Stop.Pending = a.parkedAt.Pending.Snapshot()
	case model.InSleep, model.InClock, model.InWork, model.AtEnd:
	default:
		m.Disable("a client waits for something else than an answer")
	}
	a.heard.Promoted = ex.promoted
	next, err := m.Learn(a, a.mind, a.heard, did, ex.w.Scripts)
	if err == nil {
		a.mind = next
	}
	return err
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
