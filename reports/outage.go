package reports

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// watchers follow the operations around every failover of a history.
type watchers struct {
	meta harness.Meta
	all  []*watcher
}

// watcher finds the last write before and the first write after one failover.
type watcher struct {
	aftermath
	cut      time.Duration // whatever was called after it and is ok was done by the new primary
	promoted time.Duration
	before   time.Duration // Return of the last ok write before cut
	began    bool          // there was one
	after    time.Duration // Return of the first ok write called after cut
	ended    bool          // there was one
	client   int           // whose that was
	outage   Outage
	minority int64
}

func newWatchers(h harness.History) *watchers {
	w := &watchers{meta: h.Meta}
	for _, a := range aftermaths(h) {
		one := &watcher{aftermath: a, promoted: a.promotion()}
		one.cut = one.promoted
		if a.killed() {
			one.cut = max(a.Bit, a.Start)
		}
		w.all = append(w.all, one)
	}
	return w
}

// add takes the next operation, in order of Return.
func (w *watchers) add(op harness.Op) {
	if op.Client < 0 {
		return
	}
	for _, one := range w.all {
		switch minority := slices.Contains(one.Groups, w.meta.Group(op.Client)); {
		case !one.last && op.Call >= one.until:
		case minority && write(op) && op.Call > one.promoted && op.Return <= one.Heal:
			one.minority++
		case minority:
		case write(op):
			one.wrote(op)
		default:
			one.missed(op)
		}
	}
}

// write reports whether op is an acknowledged change.
func write(op harness.Op) bool {
	switch op.Kind {
	case harness.Acquire, harness.Claim, harness.Next, harness.Add:
		return op.Outcome == harness.OK
	}
	return false
}

func (w *watcher) wrote(op harness.Op) {
	switch {
	case op.Return <= w.cut:
		w.before, w.began, w.outage.Failed, w.outage.Unknown = op.Return, true, 0, 0
	case op.Call > w.cut && !w.ended:
		w.after, w.ended, w.client = op.Return, true, op.Client
	}
}

// missed counts an operation without effect if it was under way during the outage.
func (w *watcher) missed(op harness.Op) {
	if !w.began || (w.ended && op.Call >= w.after) {
		return
	}
	switch {
	case op.Outcome == harness.OK || refused(op):
	case op.Outcome == harness.Fail:
		w.outage.Failed++
	default:
		w.outage.Unknown++
	}
}

func (w *watchers) failovers() []Failover {
	var all []Failover
	for _, one := range w.all {
		all = append(all, one.failover())
	}
	return all
}

func (w *watcher) failover() Failover {
	f := Failover{
		Fault: w.index, Name: w.Name, Old: w.old, New: w.new, Start: w.Start, Stages: w.stages(),
		Again: w.again(), Minority: w.minority, Outage: w.outage,
	}
	if !w.ended {
		return f
	}
	i := slices.Index(milestones(), Writable)
	f.Stages[i] = w.seen(Writable, w.after, fmt.Sprintf("client %d", w.client))
	if w.began {
		f.Outage.Seen, f.Outage.From, f.Outage.To = true, w.before, w.after
	}
	return f
}
