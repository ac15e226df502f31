package checkers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Fence returns the checker of fencing tokens: a later grant has a larger one.
//
// The Result of an ok acquire is its token, if there is one. An ok acquire B with a token that is not larger than
// that of an ok acquire A on the same Key that certainly was granted before is a [harness.FenceRegression], reported
// once, against the largest such token. A was granted before B if it had returned before B was called, or before B's
// lease could be over: had B come first, its owner would still have had the lock when A was granted, since it
// releases after B's Return. So it was, too, if A was called before B returned, and returned later, while B's owner
// certainly had the lock: before B can have been released, and before its lease can be over, nor that of a renewal
// which returned before then. Two owners with one token are one in either order, however late they were answered.
// Only an owner (the worker together with Arg) that got its own token again is not: who acquires again what it holds
// is granted nothing new. Nothing is said about acquires that ended in info, which may have drawn a token. If a
// command of B's owner may still be executed it may have ended B's lease earlier; in a widened history nobody knows
// when B was released. Source: Kleppmann 2016; soundness rules 1, 2, 4 and 5.
//
// Tokens are non-negative decimal numbers of any length, compared as such and never as floats; a Result that is something
// else makes the verdict Unknown, if nothing worse was found, and so does a history without tokens. Grants without a
// token are passed over, since another lock may have made them.
//
// Time is O(log n) a grant. Memory is bounded: of each key the grants are kept that had the largest token so far,
// since the slowest worker's last operation, 2,048 at most, and those that may last, with 16 others that returned
// meanwhile. A call that more than those overtook is judged at the end, in a second pass over the history; of more
// than 1,000 such, and where there is no second pass, the verdict is Unknown. Of two grants with one token that were
// under way at once nothing is said if more than 2,048 others returned between them.
func Fence() harness.Checker { return fence{} }

type fence struct{}

func (fence) Name() string { return "fence" }

func (c fence) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := &fencePass{tally: newTally(h, found), peaks: map[string]*peaks{}, latest: map[string]*latestGrants{}, mark: watermark{workers: h.Meta.Workers, widened: h.Meta.Widened}}
	err := eachOp(ctx, h, p.op)
	if err == nil && isComplete(h) {
		p.holds.end(p.lateToken)
	}
	p.late.retry(ctx, h, harness.Acquire, p.rejudge)
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid:  fmt.Sprintf("%s fencing tokens, each larger than those granted before", units.Count(int64(p.tokens))),
		absent: []string{p.none()}, doubts: []string{p.oddities.doubt(), overtakenDoubt(p.late.unsure, harness.Acquire)},
		figures: []harness.Figure{
			figureTokens.Count(p.tokens), figureFenceRegressions.Count(p.counts[harness.FenceRegression]),
		},
	})
}

// fencePass is one pass over a history.
type fencePass struct {
	*tally
	mark     watermark
	peaks    map[string]*peaks
	latest   map[string]*latestGrants
	tokens   int
	pending  lateOwners // commands that may still be executed
	holds    fenceHolds
	late     lateCalls
	oddities oddities
}

func (p *fencePass) op(x harness.Op) {
	p.mark.hear(x)
	p.holds.settle(x, func() time.Duration { return p.keptUntil(x) }, p.meta, p.lateToken)
	if x.Outcome == harness.Info && (x.Kind == harness.Acquire || x.Kind == harness.Extend || x.Kind == harness.Release) {
		p.pending.add(x, p.meta)
	}
	if x.Kind != harness.Acquire || x.Outcome != harness.OK || x.Result == "" {
		return
	}
	token, ok := parseNumber(x.Result)
	if !ok {
		p.oddities.add(x)
		return
	}
	p.tokens++
	before, latest := p.peaks[x.Key], p.latest[x.Key]
	if before == nil {
		before, latest = &peaks{}, &latestGrants{}
		p.peaks[x.Key], p.latest[x.Key] = before, latest
	}
	until := p.keptUntil(x)
	grant := peak{Op: x, number: token, after: grantedAfter(x, until, p.meta)}
	p.holds.meet(grant, p.meta)
	if a, ok := p.largerBefore(before.returnedBefore(grant.after), x, token); ok {
		p.add(p.regressionAnomaly(a, grant))
	} else if a, ok := latest.sharing(grant, p.meta); ok {
		p.add(sharedTokenAnomaly(a, x))
	} else if before.unsure(grant.after, token) {
		p.late.add(grant)
	} else if until > x.Return && !p.meta.Widened {
		h := p.holds.begin(grant, until, p.meta.Worker(x.Client))
		for a := range latest.returnedWith(x.Return) {
			h.note(a, p.meta)
		}
	}
	before.addIfLarger(peak{Op: x, number: token}, p.meta, p.mark.low)
	latest.add(grant, p.mark.low)
}

// keptUntil returns the earliest end of the lease of x, an ok acquire or extend, as far as is known when x returns.
func (p *fencePass) keptUntil(x harness.Op) time.Duration {
	late, _ := p.pending.commandsOf(x, p.meta)
	return late.keptUntil(x, p.meta.Drift)
}

// lateToken reports a grant whose owner still had the lock when another with a token as large, or larger, returned.
func (p *fencePass) lateToken(h *fenceHold, first peak) { p.add(p.lateTokenAnomaly(h, first)) }

// grantedAfter returns the time before which whatever had returned was granted before x, an ok acquire that was kept until then at least.
func grantedAfter(x harness.Op, until time.Duration, meta harness.Meta) time.Duration {
	if meta.Widened {
		return x.Call
	}
	return min(x.Return, until)
}

// rejudge holds x against the largest tokens that had been given before it.
func (p *fencePass) rejudge(before peaks, x peak) {
	if a, ok := p.largerBefore(before, x.Op, x.number); ok {
		p.add(p.regressionAnomaly(a, x))
	}
}

// largerBefore returns the grant with the largest token that came before x and whose token forbids x to get this one.
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
	found := pairAnomaly(harness.FenceRegression, a, b.Op, fmt.Sprintf(
		"%s was granted %s with the fencing token %s by %s, after %s had been granted it with %s by %s",
		clientName(b.Client), b.Key, b.Result, formatTime(b.Return), clientName(a.Client), a.Result, formatTime(a.Return)))
	found.From = min(a.Call, b.Call)
	found.Spans = []harness.Span{{Client: a.Client, Kind: harness.LargestToken, From: a.Return, To: b.after}}
	return found
}

// none returns a doubt if the history has no tokens.
func (p *fencePass) none() string {
	if p.tokens+p.oddities.n > 0 {
		return ""
	}
	return "no fencing token was recorded"
}
