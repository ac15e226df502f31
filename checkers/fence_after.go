package checkers

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file finds fencing tokens that were drawn after the lock was lost. A grant that returned while another owner certainly held the lock
// came before that owner's: so its token has to be smaller.

// fenceHold is a grant with a token, while it may last.
type fenceHold struct {
	grant   peak
	until   time.Duration // what was granted can be over from here on, as far as is known
	above   []peak        // grants with a larger token that had been called before this one returned, and returned later, before until
	settled bool          // it is over, or was reported
}

const (
	mostAbove = 16 // grants that wait for what comes of a hold: a lock that is right has none for long
	mostHeld  = 16 // holds of a lock that may last: a lock that is right has one
)

// fenceHolds keeps the holds that may last.
type fenceHolds struct {
	ofWorker map[int][]*fenceHold
	ofKey    map[string][]*fenceHold
}

// begin adds a grant that can be over at until. Its worker does one thing after the other, so all its operations settle it.
func (f *fenceHolds) begin(grant peak, until time.Duration, worker int) {
	if f.ofWorker == nil {
		f.ofWorker, f.ofKey = map[int][]*fenceHold{}, map[string][]*fenceHold{}
	}
	h := &fenceHold{grant: grant, until: until}
	f.ofWorker[worker] = append(f.ofWorker[worker], h)
	all := f.ofKey[grant.Key]
	if len(all) == mostHeld {
		all[0].settled = true
		all = slices.Delete(all, 0, 1)
	}
	f.ofKey[grant.Key] = append(all, h)
}

// meet notes for which holds of its key x, which has just returned, may have come too late.
func (f *fenceHolds) meet(x peak, meta harness.Meta) {
	all := f.ofKey[x.Key]
	if len(all) == 0 {
		return
	}
	all = slices.DeleteFunc(all, func(h *fenceHold) bool { return h.settled || h.until <= x.Return && len(h.above) == 0 })
	for _, h := range all {
		during := x.Call < h.grant.Return && h.grant.Return < x.Return && x.Return < h.until
		if during && x.number.compare(h.grant.number) > 0 && ownerOf(x.Op, meta) != ownerOf(h.grant.Op, meta) && len(h.above) < mostAbove {
			h.above = append(h.above, x)
		}
	}
	f.ofKey[x.Key] = all
}

// settle learns what x says about the holds of its worker. A release ends them, and a renewal may shorten them. Anything else shows that they
// were not released before x returned. late is told of a hold and the grant with the largest token that came before it.
func (f *fenceHolds) settle(x harness.Op, meta harness.Meta, late func(h *fenceHold, first peak)) {
	worker := meta.Worker(x.Client)
	held := f.ofWorker[worker]
	if len(held) == 0 {
		return
	}
	f.ofWorker[worker] = slices.DeleteFunc(held, func(h *fenceHold) bool {
		if h.settled {
			return true
		}
		about := x.Key == h.grant.Key && ownerOf(x, meta) == ownerOf(h.grant.Op, meta)
		released := about && x.Kind == harness.Release
		switch {
		case released:
			h.until = min(h.until, x.Call)
		case about && setsLease(x):
			h.until = min(h.until, renewedUntil(x, meta.Drift))
		}
		h.decide(x.Return, late)
		h.settled = h.settled || released || h.until <= x.Return
		return h.settled
	})
}

// decide reports h if a grant that waits for it returned before it can have been released at lasted, or be over.
func (h *fenceHold) decide(lasted time.Duration, late func(h *fenceHold, first peak)) {
	h.above = slices.DeleteFunc(h.above, func(a peak) bool { return a.Return >= h.until })
	var first *peak
	for i := range h.above {
		if a := &h.above[i]; a.Return < lasted && (first == nil || a.number.compare(first.number) > 0) {
			first = a
		}
	}
	if first != nil {
		late(h, *first)
		h.settled = true
	}
}

// end decides what still waits, in a record that is complete: who was silent since has released nothing.
func (f *fenceHolds) end(late func(h *fenceHold, first peak)) {
	for _, worker := range slices.Sorted(maps.Keys(f.ofWorker)) {
		for _, h := range f.ofWorker[worker] {
			if !h.settled {
				h.decide(forever, late)
			}
		}
	}
}

// lateTokenAnomaly is about h, whose owner certainly had the lock when first returned, with a larger token.
func (p *fencePass) lateTokenAnomaly(h *fenceHold, first peak) harness.Anomaly {
	a, b := first.Op, h.grant.Op
	found := pairAnomaly(harness.FenceRegression, a, b, fmt.Sprintf(
		"%s was granted %s with the fencing token %s by %s, and still had it at %s, when %s was granted it with %s, for which it had asked by %s: that grant came first, so its token has to be smaller",
		clientName(b.Client), b.Key, b.Result, formatTime(b.Return), formatTime(a.Return), clientName(a.Client), a.Result, formatTime(a.Call)))
	found.From, found.To = min(a.Call, b.Call), a.Return
	found.Spans = []harness.Span{{Client: b.Client, Kind: harness.StillHeld, From: b.Return, To: a.Return}}
	if b.Call < a.Call {
		found.Ops = []harness.Op{b, a}
	}
	return found
}
