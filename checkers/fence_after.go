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
	until   time.Duration // what was granted, or its last renewal, can be over from here on, as far as is known
	chain   []link        // the grant and the renewals that show it, each before the one before it could be over
	above   []peak        // grants with a larger token that had been called by the time this one returned, and did not return before it, but before until
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
func (f *fenceHolds) begin(grant peak, until time.Duration, worker int) *fenceHold {
	if f.ofWorker == nil {
		f.ofWorker, f.ofKey = map[int][]*fenceHold{}, map[string][]*fenceHold{}
	}
	h := &fenceHold{grant: grant, until: until, chain: []link{{sight{op: grant.Op}, until}}}
	f.ofWorker[worker] = append(f.ofWorker[worker], h)
	all := f.ofKey[grant.Key]
	if len(all) == mostHeld {
		all[0].settled = true
		all = slices.Delete(all, 0, 1)
	}
	f.ofKey[grant.Key] = append(all, h)
	return h
}

// meet notes for which holds of its key x, which has just returned, may have come too late.
func (f *fenceHolds) meet(x peak, meta harness.Meta) {
	all := f.ofKey[x.Key]
	if len(all) == 0 {
		return
	}
	all = slices.DeleteFunc(all, func(h *fenceHold) bool { return h.settled || h.until <= x.Return && len(h.above) == 0 })
	for _, h := range all {
		h.note(x, meta)
	}
	f.ofKey[x.Key] = all
}

// note keeps x if it came before h, should h last beyond the Return of x.
func (h *fenceHold) note(x peak, meta harness.Meta) {
	during := x.Call <= h.grant.Return && h.grant.Return <= x.Return && x.Return < h.until
	if during && x.number.compare(h.grant.number) > 0 && ownerOf(x.Op, meta) != ownerOf(h.grant.Op, meta) && len(h.above) < mostAbove {
		h.above = append(h.above, x)
	}
}

// settle learns what x says about the holds of its worker. A release ends them, and a renewal, kept until then at least, may make them shorter or
// longer. Anything else shows that they were not released before x returned. late is told of a hold and the grant with the largest token that
// came before it.
func (f *fenceHolds) settle(x harness.Op, kept func() time.Duration, meta harness.Meta, late func(h *fenceHold, first peak)) {
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
			h.endBy(x.Call)
		case about && setsLease(x):
			h.endBy(renewedUntil(x, meta.Drift))
			h.renew(x, kept)
		}
		h.decide(x.Return, late)
		h.settled = h.settled || released || h.until <= x.Return
		return h.settled
	})
}

// endBy notes that what was granted so far can be over at t.
func (h *fenceHold) endBy(t time.Duration) {
	h.until = min(h.until, t)
	for i := range h.chain {
		h.chain[i].until = min(h.chain[i].until, t)
	}
}

// renew makes h last as long as x, if that is a renewal that returned before h could be over. Of more than linksKept that are needed to show it the
// later ones count for nothing.
func (h *fenceHold) renew(x harness.Op, kept func() time.Duration) {
	if x.Outcome != harness.OK || x.Return >= h.until {
		return
	}
	if n := slices.IndexFunc(h.chain, func(l link) bool { return l.until > x.Return }); n >= 0 && n < linksKept {
		h.until = kept()
		h.chain = append(h.chain[:n+1], link{sight{op: x}, h.until})
	}
}

// shownAt lists the grant and the renewals that show that h lasted beyond t.
func (h *fenceHold) shownAt(t time.Duration) (all []harness.Op) {
	for _, l := range h.chain {
		all = append(all, l.op)
		if l.until > t {
			break
		}
	}
	return all
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
	if b.Return < a.Return {
		found.Spans = []harness.Span{{Client: b.Client, Kind: harness.StillHeld, From: b.Return, To: a.Return}}
	}
	found.Ops = append(h.shownAt(a.Return), a)
	return found
}
