package checkers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
)

// This file judges calls that so many others overtook that the largest number before them is not kept any more.

// retryAtMost bounds the calls that a second pass judges.
const retryAtMost = 1000

// lateCalls holds the calls that are kept for a second pass.
type lateCalls struct {
	calls  []peak
	unsure int // calls of which nothing can be said
}

// add keeps x for the second pass, if there is room.
func (l *lateCalls) add(x peak) {
	if len(l.calls) < retryAtMost {
		l.calls = append(l.calls, x)
	} else {
		l.unsure++
	}
}

// retry has each of the calls judged in a second pass over h, if there is one: with the largest numbers that ok operations of
// that kind had returned for its key before its time after, of two owners if these are equal.
func (l *lateCalls) retry(ctx context.Context, h harness.History, kind harness.Kind, judge func(before peaks, x peak)) {
	if len(l.calls) == 0 {
		return
	}
	waiting := map[string][]peak{} // by key, in order of after
	for _, x := range l.calls {
		waiting[x.Key] = append(waiting[x.Key], x)
	}
	for _, all := range waiting {
		slices.SortStableFunc(all, func(a, b peak) int { return cmp.Compare(a.after, b.after) })
	}
	ordinals, largest := map[string]int{}, map[string]*peaks{}
	left := len(l.calls)
	// What ends this pass early leaves doubts.
	_ = eachOp(ctx, h, func(x harness.Op) {
		n, ok := parseNumber(x.Result)
		if x.Kind != kind || x.Outcome != harness.OK || !ok || len(waiting[x.Key]) == 0 {
			return
		}
		if largest[x.Key] == nil {
			largest[x.Key] = &peaks{}
		}
		for all := waiting[x.Key]; len(all) > 0 && all[0].after <= x.Return; all = waiting[x.Key] {
			judge(*largest[x.Key], all[0])
			waiting[x.Key] = all[1:]
			left--
		}
		ordinals[x.Key]++
		largest[x.Key].addIfLarger(peak{Op: x, number: n, ordinal: ordinals[x.Key]}, h.Meta, 0)
		*largest[x.Key] = lastOf(*largest[x.Key], 2)
	})
	l.unsure += left
}

// overtakenDoubt returns a doubt if nothing can be said of some calls.
func overtakenDoubt(n int, kind harness.Kind) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s operations were overtaken by so many others that it is not known what had returned before them", n, kind)
}
