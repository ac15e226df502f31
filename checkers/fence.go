package checkers

import (
	"context"
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Fence returns the checker of fencing tokens: a later grant has a larger one.
//
// The Result of an ok acquire is its token, if there is one. An ok acquire B with a token that is not larger than that of
// an ok acquire A on the same Key, where A.Return < B.Call, is a [harness.FenceRegression], reported once, against the
// largest such token. Only an owner (the worker together with Arg) that got its own token again is not: who acquires
// again what it holds is granted nothing new. Nothing is said about the order of grants whose intervals meet, nor about
// acquires that ended in info, which may have drawn a token. Source: Kleppmann 2016; soundness rules 4 and 5.
//
// Tokens are non-negative decimal numbers of any length, compared as such and never as floats; a Result that is something
// else makes the verdict Unknown, if nothing worse was found, and so does a history without tokens. Grants without a
// token are passed over, since another lock may have made them.
//
// Time is O(log n) a grant. Memory is bounded: of each key the grants are kept that had the largest token so far, since the
// slowest worker's last operation, 2,048 at most. A call that more than those overtook is judged at the end, in a second
// pass over the history; of more than 1,000 such, and where there is no second pass, the verdict is Unknown.
func Fence() harness.Checker { return fence{} }

type fence struct{}

func (fence) Name() string { return "fence" }

func (c fence) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := &fencePass{tally: newTally(h, found), peaks: map[string]*peaks{}, mark: watermark{workers: h.Meta.Workers, widened: h.Meta.Widened}}
	err := eachOp(ctx, h, p.op)
	p.late.retry(ctx, h, harness.Acquire, p.rejudge)
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid:  fmt.Sprintf("%s fencing tokens, each larger than those granted before its call", units.Count(int64(p.tokens))),
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
	tokens   int
	late     lateCalls
	oddities oddities
}

func (p *fencePass) op(x harness.Op) {
	p.mark.hear(x)
	if x.Kind != harness.Acquire || x.Outcome != harness.OK || x.Result == "" {
		return
	}
	token, ok := parseNumber(x.Result)
	if !ok {
		p.oddities.add(x)
		return
	}
	p.tokens++
	before := p.peaks[x.Key]
	if before == nil {
		before = &peaks{}
		p.peaks[x.Key] = before
	}
	if a, ok := p.largerBefore(before.returnedBefore(x.Call), x, token); ok {
		p.add(p.regressionAnomaly(a, x))
	} else if before.unsure(x.Call, token) {
		p.late.add(peak{Op: x, number: token})
	}
	before.addIfLarger(peak{Op: x, number: token}, p.meta, p.mark.low)
}

// rejudge holds x against the largest tokens that had been given before its call.
func (p *fencePass) rejudge(before peaks, x peak) {
	if a, ok := p.largerBefore(before, x.Op, x.number); ok {
		p.add(p.regressionAnomaly(a, x.Op))
	}
}

// largerBefore returns the grant with the largest token that had returned before x was called and whose token forbids x to get
// this one.
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

func (p *fencePass) regressionAnomaly(a, b harness.Op) harness.Anomaly {
	found := pairAnomaly(harness.FenceRegression, a, b, fmt.Sprintf(
		"%s was granted %s with the fencing token %s by %s, after %s had been granted it with %s by %s",
		clientName(b.Client), b.Key, b.Result, formatTime(b.Return), clientName(a.Client), a.Result, formatTime(a.Return)))
	found.Spans = []harness.Span{{Client: a.Client, Kind: harness.LargestToken, From: a.Return, To: b.Call}}
	return found
}

// none returns a doubt if the history has no tokens.
func (p *fencePass) none() string {
	if p.tokens+p.oddities.n > 0 {
		return ""
	}
	return "no fencing token was recorded"
}
