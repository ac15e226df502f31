package checkers

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// planted is a checker with a defect: it sees a changed history, or omits some of what it finds.
type planted struct {
	harness.Checker
	see       func(harness.Op) harness.Op
	tell      func(n int) bool // whether the n-th anomaly is reported; nil: all are
	driftless bool             // it ignores drift
}

func (b planted) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	seen := opsIn(h)
	for i, x := range seen {
		if b.see != nil {
			seen[i] = b.see(x)
		}
	}
	slices.SortStableFunc(seen, func(x, y harness.Op) int { return int(x.Return - y.Return) })
	h.Ops = harness.OpsOf(seen)
	if b.driftless {
		h.Meta.Drift = 0
	}
	n := 0
	return b.Checker.Check(ctx, h, func(a harness.Anomaly) {
		if n++; b.tell == nil || b.tell(n) {
			found(a)
		}
	})
}

// blind lists checkers that misread what they see.
var blind = map[string]planted{
	"takes info for ok": {see: func(x harness.Op) harness.Op {
		if x.Outcome == harness.Info {
			x.Outcome = harness.OK
		}
		return x
	}},
	"takes ok for fail, when it took long": {see: func(x harness.Op) harness.Op {
		if x.Return > x.Call+2 && x.Outcome == harness.OK {
			x.Outcome = harness.Fail
		}
		return x
	}},
	"takes what touches for what overlaps": {see: func(x harness.Op) harness.Op {
		x.Call, x.Return = 2*x.Call, 2*x.Return-1
		x.TTL, x.Until, x.Return = 2*x.TTL, 2*x.Until, max(x.Call, x.Return)
		return x
	}},
}

// Each defect that is planted in a checker is found within a thousand histories, or 5,000 if the defect is to ignore
// drift. Brute force without the checker's rule finds it, too, but may need more histories.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, p := range properties {
		defects := maps.Clone(blind)
		defects["forgets the second violation"] = planted{tell: func(n int) bool { return n%2 == 1 }}
		if p.drifts {
			defects["ignores drift"] = planted{driftless: true}
		}
		for name, b := range defects {
			b.Checker = p.checker
			limit, alone := 1000, 20_000
			if b.driftless {
				limit, alone = 5000, 5000
			}
			require.Positive(t, p.foundAfter(b, limit), "%s, which %s", p.name, name)
			if p.explains != nil && b.tell == nil {
				require.True(t, p.differs(t, b, alone), "%s, which %s, by brute force", p.name, name)
			}
		}
		require.Zero(t, p.foundAfter(p.checker, 200), p.name)
		require.False(t, p.explains != nil && p.differs(t, p.checker, 1000), p.name)
	}
}

// foundAfter returns after how many histories c breaks the rule of p. It returns 0 if limit histories do not show it.
func (p property) foundAfter(c harness.Checker, limit int) int {
	for seed := range limit {
		if p.disagreement(c, p.small(seeded(uint64(seed))), &score{}) != nil {
			return seed + 1
		}
	}
	return 0
}

// The operations of an anomaly are as few as possible: without any one of the grants, the others can be explained.
// Releases stay, since a hold would look longer without its own. Operations that only name the cause do not count: the
// claim that a confirm belongs to, and of a stolen release the late release with its owner's hold.
func TestWindowsAreMinimal(t *testing.T) {
	checked := map[harness.Class]int{}
	for _, p := range properties[:5] {
		for seed := range uint64(3000) {
			one := p.small(seeded(seed))
			_, found := judge(t, p.checker, one.h)
			for _, a := range found {
				require.LessOrEqual(t, len(a.Ops), 6)
				ops := slices.DeleteFunc(slices.Clone(a.Ops), func(x harness.Op) bool { return culprit(a, x) })
				require.True(t, illegal(a.Class, ops, one.h.Meta), "%v", one)
				for i := range ops {
					if len(ops) > 2 && (a.Class == harness.FenceRegression || a.Class == harness.DuplicateDelivery) {
						// A renewal may have a token of its own, or be needed only because a confirm that is not here
						// shortens the mark.
						break
					}
					if ops[i].Kind != harness.Release && a.Class != harness.StolenRelease {
						rest := slices.Delete(slices.Clone(ops), i, i+1)
						require.False(t, illegal(a.Class, rest, one.h.Meta), "%v\n%v", a, one)
					}
				}
				checked[a.Class]++
			}
		}
	}
	for _, class := range []harness.Class{harness.DoubleGrant, harness.DuplicateDelivery, harness.DuplicateNumber,
		harness.Regression, harness.FenceRegression} {
		require.Greater(t, checked[class], 50, class)
	}
}

// culprit reports whether a has the claim x only as an explanation. It does if a confirm had returned before the last
// claim of a was called: then that confirm suffices as evidence.
func culprit(a harness.Anomaly, x harness.Op) bool {
	if x.Kind != harness.Claim || x.Return == a.To {
		return false
	}
	second := slices.IndexFunc(a.Ops, func(o harness.Op) bool { return o.Kind == harness.Claim && o.Return == a.To })
	return slices.ContainsFunc(a.Ops,
		func(o harness.Op) bool { return o.Kind == harness.Confirm && o.Return < a.Ops[second].Call })
}

func illegal(class harness.Class, ops []harness.Op, meta harness.Meta) bool {
	w, _ := windowOf(class, ops, meta)
	return !porcupine.CheckOperations(w.model, w.operations)
}

// An anomaly with too many operations is not shown to porcupine, and so not certified.
func TestCertifyIsBounded(t *testing.T) {
	a := harness.Anomaly{Class: harness.DuplicateNumber,
		Ops: slices.Repeat([]harness.Op{next(0, 1, 2, "1")}, certifyOperations)}
	require.True(t, certify(a, harness.Meta{}))
	a.Ops = append(a.Ops, next(0, 1, 2, "1"))
	require.False(t, certify(a, harness.Meta{}))
}
