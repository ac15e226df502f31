package checkers

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file finds grants whose token is too large because it was drawn after the lock had been lost. A grant that
// returned while another owner certainly held the lock came before that owner's grant, so its token has to be smaller.

// fenceHold is a grant with a token, and what is known of how long its owner has the lock.
type fenceHold struct {
	grant peak
	until time.Duration // earliest end of the grant and its renewals, as far as known
	chain []link        // the grant, followed by its renewals; each returned before the previous lease can have ended
	// The grants with a larger token that were called before the grant of this hold returned. They returned after it,
	// and before the earliest end of the hold. Those that returned while the hold lasted came before its grant.
	larger []peak
	done   bool // the hold has ended, was reported, or was dropped to bound memory
}

const (
	largerKept     = 16 // largest number of larger grants kept for one hold; a correct lock has none for long
	fenceHoldsKept = 16 // largest number of holds kept for one lock; a correct lock has one
)

// fenceHolds keeps the holds that may still go on.
type fenceHolds struct {
	ofWorker map[int][]*fenceHold // holds by worker; the worker's next operation tells whether they lasted
	ofKey    map[string][]*fenceHold
}

// begin adds the hold of a grant. The parameter until is the earliest end of the hold.
func (f *fenceHolds) begin(grant peak, until time.Duration, worker int) *fenceHold {
	if f.ofWorker == nil {
		f.ofWorker, f.ofKey = map[int][]*fenceHold{}, map[string][]*fenceHold{}
	}
	h := &fenceHold{grant: grant, until: until, chain: []link{{indexedOp{op: grant.Op}, until}}}
	f.ofWorker[worker] = append(f.ofWorker[worker], h)
	all := f.ofKey[grant.Key]
	if len(all) == fenceHoldsKept {
		all[0].done = true
		all = slices.Delete(all, 0, 1)
	}
	f.ofKey[grant.Key] = append(all, h)
	return h
}

// noteGrant compares x, a grant that has just returned, with the holds of its key that may still go on. If such a hold
// proves to have lasted until x returned, x was granted first, so its token ought to be smaller.
func (f *fenceHolds) noteGrant(x peak, meta harness.Meta) {
	all := f.ofKey[x.Key]
	if len(all) == 0 {
		return
	}
	all = slices.DeleteFunc(all, func(h *fenceHold) bool { return h.done || h.until <= x.Return && len(h.larger) == 0 })
	for _, h := range all {
		h.note(x, meta)
	}
	f.ofKey[x.Key] = all
}

// note adds the grant x to h.larger if the token of x is larger than that of h, and x was under way when the grant of h
// returned. Whether h lasted until x returned is only known later. If h did, x was granted first.
func (h *fenceHold) note(x peak, meta harness.Meta) {
	during := x.Call <= h.grant.Return && h.grant.Return <= x.Return && x.Return < h.until
	if during && x.number.compare(h.grant.number) > 0 && ownerOf(x.Op, meta) != ownerOf(h.grant.Op, meta) &&
		len(h.larger) < largerKept {
		h.larger = append(h.larger, x)
	}
}

// apply handles x, an operation of a worker, for the holds of that worker. A release ends the holds of its lock and
// owner. A renewal moves the end of these holds to the result of newUntil, which may be earlier or later. Any other
// operation proves that the worker's holds were not released before x returned.
//
// If another owner's grant returned while a hold certainly lasted, that grant came before the grant of the hold. If the
// token of such a grant is larger, apply calls report with the hold and that grant. If there are several, it takes the
// one with the largest token.
func (f *fenceHolds) apply(
	x harness.Op, newUntil func() time.Duration, meta harness.Meta, report func(h *fenceHold, first peak),
) {
	worker := meta.Worker(x.Client)
	held := f.ofWorker[worker]
	if len(held) == 0 {
		return
	}
	f.ofWorker[worker] = slices.DeleteFunc(held, func(h *fenceHold) bool {
		if h.done {
			return true
		}
		sameLockAndOwner := x.Key == h.grant.Key && ownerOf(x, meta) == ownerOf(h.grant.Op, meta)
		released := sameLockAndOwner && x.Kind == harness.Release
		switch {
		case released:
			h.endBy(x.Call)
		case sameLockAndOwner && setsLease(x):
			h.endBy(renewedUntil(x, meta.Drift))
			h.renew(x, newUntil)
		}
		h.decide(x.Return, report)
		h.done = h.done || released || h.until <= x.Return
		return h.done
	})
}

// endBy lowers the earliest ends of the hold and of its renewals to the time t.
func (h *fenceHold) endBy(t time.Duration) {
	h.until = min(h.until, t)
	for i := range h.chain {
		h.chain[i].until = min(h.chain[i].until, t)
	}
}

// renew makes h last as long as the lease of x, if x is an ok renewal that returned before h can have ended. After
// linksKept renewals, further ones change nothing.
func (h *fenceHold) renew(x harness.Op, newUntil func() time.Duration) {
	if x.Outcome != harness.OK || x.Return >= h.until {
		return
	}
	if n := slices.IndexFunc(h.chain, func(l link) bool { return l.until > x.Return }); n >= 0 && n < linksKept {
		h.until = newUntil()
		h.chain = append(h.chain[:n+1], link{indexedOp{op: x}, h.until})
	}
}

// evidenceUntil lists the grant and the renewals which show that h lasted beyond t.
func (h *fenceHold) evidenceUntil(t time.Duration) (all []harness.Op) {
	for _, l := range h.chain {
		all = append(all, l.op)
		if l.until > t {
			break
		}
	}
	return all
}

// decide reports h if a grant with a larger token returned while h certainly lasted. h was certainly not released
// before heldUntil, so it lasted until that time or until its earliest end, whichever comes first.
func (h *fenceHold) decide(heldUntil time.Duration, report func(h *fenceHold, first peak)) {
	h.larger = slices.DeleteFunc(h.larger, func(a peak) bool { return a.Return >= h.until })
	var first *peak
	for i := range h.larger {
		if a := &h.larger[i]; a.Return < heldUntil && (first == nil || a.number.compare(first.number) > 0) {
			first = a
		}
	}
	if first != nil {
		report(h, *first)
		h.done = true
	}
}

// end decides the remaining holds of a complete record. Their owners had no later operation, so they did not release
// the lock.
func (f *fenceHolds) end(report func(h *fenceHold, first peak)) {
	for _, worker := range slices.Sorted(maps.Keys(f.ofWorker)) {
		for _, h := range f.ofWorker[worker] {
			if !h.done {
				h.decide(forever, report)
			}
		}
	}
}

// lateTokenAnomaly returns the anomaly that the hold h and an earlier grant show. That grant has a larger token than h,
// and returned while the owner of h certainly had the lock.
func (p *fencePass) lateTokenAnomaly(h *fenceHold, first peak) harness.Anomaly {
	a, b := first.Op, h.grant.Op
	anomaly := pairAnomaly(harness.FenceRegression, a, b, fmt.Sprintf(
		"%s was granted %s with the fencing token %s by %s, and still had it at %s, when %s was granted it with %s, "+
			"for which it had asked by %s: that grant came first, so its token has to be smaller",
		clientName(b.Client), b.Key, b.Result, formatTime(b.Return), formatTime(a.Return), clientName(a.Client),
		a.Result, formatTime(a.Call)))
	anomaly.From, anomaly.To = min(a.Call, b.Call), a.Return
	if b.Return < a.Return {
		anomaly.Spans = []harness.Span{{Client: b.Client, Kind: harness.StillHeld, From: b.Return, To: a.Return}}
	}
	anomaly.Ops = append(h.evidenceUntil(a.Return), a)
	return anomaly
}
