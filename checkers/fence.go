package checkers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Fence returns the checker of fencing tokens: a later grant has a larger token.
//
// The token of an ok acquire is its Result, if it has one. A pair of ok acquires A and B on one Key is a
// [harness.FenceRegression] if A was certainly granted before B and B's token is not larger. Each B is reported once,
// against the largest such token. A was certainly granted before B if
//
//   - A returned before B was called; or
//   - A returned before B did, and before B's lease can have ended. If B had been granted first, B's owner would still
//     have had the lock when A was granted: an owner releases only after its acquire has returned; or
//   - A was called before B returned, and returned later, while B's owner certainly had the lock. The owner has the
//     lock until it calls a release, or until the lease can have ended. A renewal that returned in time gives the owner
//     a new lease.
//
// Two different owners with one token are a violation, whichever of them came first and however late it was answered.
// An owner is the worker together with Arg. An owner may get its own token again: an acquire of a lock that it already
// holds grants nothing new.
//
// Acquires in info are not judged; they may have drawn a token. A command in info by B's owner may still be executed,
// and so may shorten B's lease. In a widened history (Meta.Widened) the time of B's release is not known well enough,
// so only the first rule applies. Sources: Kleppmann 2016; soundness rules 1, 2, 4 and 5.
//
// Tokens are non-negative decimal numbers of any length, compared as such and never as floats. A Result that is
// something else makes the verdict Unknown if nothing worse was found, and so does a history without tokens. Grants
// without a token are skipped, since another lock may have made them.
//
// Time is O(log n) per grant. Memory is bounded. Of each key the checker keeps the grants that had the largest token so
// far: at most 2,048, and only those since the slowest worker's last operation. It also keeps the grants that may still
// last, each with up to 16 others that returned meanwhile. If more grants than are kept returned while a call was under
// way, that call is judged at the end, in a second pass over the history. With more than 1,000 such calls, or without a
// second pass, the verdict is Unknown. Two grants with one token that were under way at the same time go unnoticed if
// more than 2,048 others returned between them.
func Fence() harness.Checker { return fence{} }

type fence struct{}

func (fence) Name() string { return "fence" }

func (c fence) Check(ctx context.Context, h harness.History, report func(harness.Anomaly)) harness.Judgement {
	p := &fencePass{tally: newTally(h, report), peaks: map[string]*peaks{}, latest: map[string]*latestGrants{},
		watermark: watermark{workers: h.Meta.Workers, widened: h.Meta.Widened}}
	err := eachOp(ctx, h, p.op)
	if err == nil && isComplete(h) {
		p.holds.end(p.reportLateToken)
	}
	p.overtaken.retry(ctx, h, harness.Acquire, p.rejudge)
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid:  fmt.Sprintf("%s fencing tokens, each larger than those granted before", units.Count(int64(p.tokens))),
		absent: []string{doubtIf(p.tokens+p.nonNumbers.count == 0, "no fencing token was recorded")},
		doubts: []string{p.nonNumbers.doubt(), overtakenDoubt(p.overtaken.unjudged, harness.Acquire)},
		figures: []harness.Figure{
			figureTokens.Count(p.tokens), figureFenceRegressions.Count(p.counts[harness.FenceRegression]),
		},
	})
}

// fencePass is one pass over a history.
type fencePass struct {
	*tally
	watermark  watermark
	peaks      map[string]*peaks
	latest     map[string]*latestGrants
	tokens     int
	pending    lateOwners // late commands of owners, by owner
	holds      fenceHolds
	overtaken  overtakenCalls
	nonNumbers nonNumbers
}

func (p *fencePass) op(x harness.Op) {
	p.watermark.note(x)
	p.holds.apply(x, func() time.Duration { return p.earliestEnd(x) }, p.meta, p.reportLateToken)
	if x.Outcome == harness.Info && (x.Kind == harness.Acquire || x.Kind == harness.Extend ||
		x.Kind == harness.Release) {
		p.pending.add(x, p.meta)
	}
	if x.Kind != harness.Acquire || x.Outcome != harness.OK || x.Result == "" {
		return
	}
	token, ok := parseNumber(x.Result)
	if !ok {
		p.nonNumbers.add(x)
		return
	}
	p.tokens++
	before, latest := entry(p.peaks, x.Key), entry(p.latest, x.Key)
	until := p.earliestEnd(x)
	grant := peak{Op: x, number: token, orderedAfter: grantedAfter(x, until, p.meta)}
	p.holds.noteGrant(grant, p.meta)
	if a, ok := p.largerBefore(before.returnedBefore(grant.orderedAfter), x, token); ok {
		p.add(p.regressionAnomaly(a, grant))
	} else if a, ok := latest.withSameToken(grant, p.meta); ok {
		p.add(sharedTokenAnomaly(a, x))
	} else if before.mayMissLarger(grant.orderedAfter, token) {
		p.overtaken.add(grant)
	} else if until > x.Return && !p.meta.Widened {
		h := p.holds.begin(grant, until, p.meta.Worker(x.Client))
		for a := range latest.returnedAt(x.Return) {
			h.note(a, p.meta)
		}
	}
	before.addIfLarger(peak{Op: x, number: token}, p.meta, p.watermark.low)
	latest.add(grant, p.watermark.low)
}

// earliestEnd returns the earliest end of the lease of x, an ok acquire or extend, as far as known when x returns.
func (p *fencePass) earliestEnd(x harness.Op) time.Duration {
	late, _ := p.pending.commandsOf(x, p.meta)
	return late.endOf(x, p.meta.Drift)
}

// reportLateToken reports the hold h and another owner's grant with a larger token. The owner of h still had the lock
// when that grant returned, so that grant was given before h and ought to have the smaller token.
func (p *fencePass) reportLateToken(h *fenceHold, first peak) { p.add(p.lateTokenAnomaly(h, first)) }

// grantedAfter returns a time for x, an ok acquire or extend: any grant that returned before that time was certainly
// given before x. The parameter until is the earliest end of the lease of x.
func grantedAfter(x harness.Op, until time.Duration, meta harness.Meta) time.Duration {
	if meta.Widened {
		return x.Call
	}
	return min(x.Return, until)
}

// rejudge judges the grant x again, in the second pass. The grants in the parameter before have the largest tokens
// among those that certainly came before x. rejudge reports x if one of these tokens is larger than the token of x, or
// equal and granted to another owner.
func (p *fencePass) rejudge(before peaks, x peak) {
	if a, ok := p.largerBefore(before, x.Op, x.number); ok {
		p.add(p.regressionAnomaly(a, x))
	}
}

// largerBefore returns the grant with the largest token among those in the parameter before, if its token is larger
// than the given one. An equal token counts as larger if it was granted to another owner than that of x. The result is
// false if there is no such grant.
func (p *fencePass) largerBefore(before peaks, x harness.Op, token number) (harness.Op, bool) {
	for _, a := range slices.Backward(before) {
		switch c := a.number.compare(token); {
		case c < 0:
			return harness.Op{}, false
		case c > 0 || ownerOf(a.Op, p.meta) != ownerOf(x, p.meta):
			return a.Op, true
		}
	}
	return harness.Op{}, false
}

func (p *fencePass) regressionAnomaly(a harness.Op, b peak) harness.Anomaly {
	anomaly := pairAnomaly(harness.FenceRegression, a, b.Op, fmt.Sprintf(
		"%s was granted %s with the fencing token %s by %s, after %s had been granted it with %s by %s",
		clientName(b.Client), b.Key, b.Result, formatTime(b.Return), clientName(a.Client), a.Result,
		formatTime(a.Return)))
	anomaly.From = min(a.Call, b.Call)
	anomaly.Spans = []harness.Span{{Client: a.Client, Kind: harness.LargestToken, From: a.Return, To: b.orderedAfter}}
	return anomaly
}
