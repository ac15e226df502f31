package analysis

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// failoverMeters passes the operations to the watcher of every failover of a history.
type failoverMeters struct {
	meta harness.Meta
	all  []*failoverMeter
}

// failoverMeter finds the first write that the new primary acknowledged, and the longest wait for an answer until then.
type failoverMeter struct {
	aftermath
	events   []harness.Event // of the run, in order of time
	served   newPrimaryWrites
	promoted time.Duration
	first    harness.Op // the first write of the new primary
	written  bool       // there was one
	gap      gap
	minority int64
}

func newFailoverMeters(h harness.History) *failoverMeters {
	w := &failoverMeters{meta: h.Meta}
	events := inOrder(h.Events)
	for _, a := range aftermaths(h) {
		one := &failoverMeter{aftermath: a, events: events, promoted: a.promotion()}
		one.served = one.newPrimaryWrites(events)
		w.all = append(w.all, one)
	}
	return w
}

// add takes the next operation, in order of Return.
func (w *failoverMeters) add(op harness.Op) {
	if op.Client < 0 || !reachesPrimary(op) {
		return
	}
	group := w.meta.Group(op.Client)
	for _, one := range w.all {
		switch minority := slices.Contains(one.Groups, group); {
		case !one.last && op.Call >= one.until:
		case minority && isWrite(op) && op.Call > one.promoted && op.Return <= one.Until():
			one.minority++
		case minority:
		default:
			one.hear(op, group)
		}
	}
}

// reachesPrimary reports whether op asks something of the system. Updates of what a lock guards and deliveries stay in the harness.
func reachesPrimary(op harness.Op) bool {
	_, guarded := harness.GuardedBy(op.Key)
	return op.Kind != harness.Deliver && !(guarded && op.Kind == harness.Add)
}

// isWrite reports whether op is an acknowledged write to the system.
func isWrite(op harness.Op) bool {
	switch op.Kind {
	case harness.Acquire, harness.Claim, harness.Next, harness.Add:
		return op.Outcome == harness.OK
	}
	return false
}

// hear takes the next operation of a client that was not cut off.
func (w *failoverMeter) hear(op harness.Op, group int) {
	over := w.written && len(w.changes) == 1 // for clients the failover is over
	w.gap.add(op, w.Start, over)
	if !w.written && isWrite(op) && w.served.includes(op, group) {
		w.first, w.written = op, true
	}
}

// newPrimaryWrites tells which acknowledged writes the new primary did.
type newPrimaryWrites struct {
	known  bool                  // the record says which node served whom
	groups map[int]time.Duration // the time from which the new primary served each client group
	cut    time.Duration         // if known is false: operations called after this time were done by the new primary
}

// newPrimaryWrites finds out which acknowledged writes the new primary did. If the record does not say which node answered, these are the
// ones that were called after the promotion, or after the end of the old primary's process.
func (a *aftermath) newPrimaryWrites(events []harness.Event) newPrimaryWrites {
	s := newPrimaryWrites{groups: map[int]time.Duration{}, cut: a.promotion()}
	if a.Down(a.old) {
		s.cut = max(a.Active, a.Start)
	}
	for _, e := range events {
		if e.Kind != harness.EventServes {
			continue
		}
		s.known = true
		var group int
		if _, err := fmt.Sscanf(e.Detail, "g%d", &group); err != nil {
			continue
		}
		if _, again := s.groups[group]; !again && e.Node == a.new && e.At >= a.from && e.At < a.changes[0].until {
			s.groups[group] = e.At
		}
	}
	return s
}

// includes reports whether the new primary did the acknowledged operation op.
func (s newPrimaryWrites) includes(op harness.Op, group int) bool {
	if !s.known {
		return op.Call > s.cut
	}
	from, ok := s.groups[group]
	return ok && op.Return >= from
}

func (w *failoverMeters) failovers() []Failover {
	var all []Failover
	for _, one := range w.all {
		all = append(all, one.failover())
	}
	return all
}

func (w *failoverMeter) failover() Failover {
	f := Failover{
		Fault: w.index, Name: w.Name, Old: w.old, New: w.new, Start: w.Start, Stages: w.stages(),
		Again: w.repeatedFailovers(), Minority: w.minority, Servers: w.downtime(w.events), Outage: w.gap.longest,
	}
	if w.written {
		i := slices.Index(Milestones(), Writable)
		f.Stages[i] = w.seen(Writable, w.first.Return, fmt.Sprintf("client %d", w.first.Client))
	}
	return f
}
