package checkers

import (
	"cmp"
	"context"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
)

// This file judges calls that so many others overtook that the largest number before the call is no longer kept.

// retriedCalls bounds the calls that a second pass judges.
const retriedCalls = 1000

// overtakenCalls holds the calls that are left to a second pass. So many other calls returned meanwhile that the first
// pass can no longer judge them.
type overtakenCalls struct {
	calls    []peak
	unjudged int // number of calls that cannot be judged
}

// add keeps x for the second pass, if there is room.
func (l *overtakenCalls) add(x peak) {
	if len(l.calls) < retriedCalls {
		l.calls = append(l.calls, x)
	} else {
		l.unjudged++
	}
}

// retry judges the calls in a second pass over h, if h can be read again. For each call x it calls the function judge
// with a list. The list has the operation with the largest number among the ok operations of the given kind on the key
// of x that had returned before x.orderedAfter. If two owners got that number, it has an operation of each.
func (l *overtakenCalls) retry(
	ctx context.Context, h harness.History, kind harness.Kind, judge func(before peaks, x peak),
) {
	if len(l.calls) == 0 {
		return
	}
	waiting := map[string][]peak{} // by key, in order of orderedAfter
	for _, x := range l.calls {
		waiting[x.Key] = append(waiting[x.Key], x)
	}
	for _, all := range waiting {
		slices.SortStableFunc(all, func(a, b peak) int { return cmp.Compare(a.orderedAfter, b.orderedAfter) })
	}
	ordinals, largest := map[string]int{}, map[string]*peaks{}
	remaining := len(l.calls)
	// An error that ends this pass early leaves calls unjudged, which is a doubt.
	_ = eachOp(ctx, h, func(x harness.Op) {
		n, ok := parseNumber(x.Result)
		if x.Kind != kind || x.Outcome != harness.OK || !ok || len(waiting[x.Key]) == 0 {
			return
		}
		before := entry(largest, x.Key)
		for all := waiting[x.Key]; len(all) > 0 && all[0].orderedAfter <= x.Return; all = waiting[x.Key] {
			judge(*before, all[0])
			waiting[x.Key] = all[1:]
			remaining--
		}
		ordinals[x.Key]++
		before.addIfLarger(peak{Op: x, number: n, ordinal: ordinals[x.Key]}, h.Meta, 0)
		*before = lastOf(*before, 2)
	})
	l.unjudged += remaining
}

// overtakenDoubt returns a reason for Unknown, which says that n operations could not be judged. It returns "" if n is
// 0.
func overtakenDoubt(n int, kind harness.Kind) string {
	return doubtIf(n > 0, "%d %s operations were overtaken by so many others that it is not known what had returned "+
		"before them", n, kind)
}
