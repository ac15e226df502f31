package checkers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
)

// This file judges calls that so many others overtook that the largest number before them is not kept any more.

// retryAtMost is how many of them a second pass judges.
const retryAtMost = 1000

// overtaken keeps a draw for the second pass.
func (p *sequencePass) overtaken(this draw) {
	if len(p.late) < retryAtMost {
		p.late = append(p.late, this)
	} else {
		p.unsure++
	}
}

// retry judges them in a second pass, if there is one: it goes from call to call with the largest number so far of each key.
func (p *sequencePass) retry(ctx context.Context, h harness.History) {
	waiting := map[string][]draw{} // by key, in order of their calls
	for _, d := range p.late {
		waiting[d.Key] = append(waiting[d.Key], d)
	}
	for _, all := range waiting {
		slices.SortStableFunc(all, func(a, b draw) int { return cmp.Compare(a.Call, b.Call) })
	}
	draws, largest := map[string]int{}, map[string]peak{}
	left := len(p.late)
	if left > 0 {
		// What ends this pass early leaves doubts.
		_ = each(ctx, h, func(x harness.Op) {
			n, ok := parseNumber(x.Result)
			if x.Kind != harness.Next || x.Outcome != harness.OK || !ok {
				return
			}
			for all := waiting[x.Key]; len(all) > 0 && all[0].Call <= x.Return; all = waiting[x.Key] {
				p.rejudge(largest[x.Key], all[0])
				waiting[x.Key] = all[1:]
				left--
			}
			draws[x.Key]++
			if largest[x.Key].number.compare(n) < 0 {
				largest[x.Key] = peak{Op: x, number: n, ordinal: draws[x.Key]}
			}
		})
	}
	p.unsure += left
}

// rejudge holds a draw against the largest number that had returned before its call.
func (p *sequencePass) rejudge(largest peak, this draw) {
	if n, _ := parseNumber(this.Result); largest.number.compare(n) > 0 {
		p.add(regression(largest, this))
	}
}

// overtaken doubts calls of which nothing can be said.
func overtaken(n int, kind harness.Kind) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s operations were overtaken by so many others that it is not known what had returned before them", n, kind)
}
