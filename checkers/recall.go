package checkers

import (
	"context"
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
)

// recallAtMost bounds the duplicates of one history whose first draw a second pass looks for.
const recallAtMost = 1000

// oldDuplicate is a draw of a number whose first draw is not kept any more.
type oldDuplicate struct {
	draw
	first *draw // once it is found
}

// keepOldDuplicate keeps a duplicate for the end, or reports it without evidence if there are too many.
func (p *sequencePass) keepOldDuplicate(this draw) {
	d := &oldDuplicate{draw: this}
	if len(p.old) < recallAtMost {
		p.old = append(p.old, d)
		return
	}
	p.add(d.anomaly())
}

// recall looks for the first draws of the old duplicates in a second pass, if there is one, and reports them.
func (p *sequencePass) recall(ctx context.Context, h harness.History) {
	if len(p.old) == 0 {
		return
	}
	wanted := map[value][]*oldDuplicate{}
	for _, d := range p.old {
		wanted[d.value] = append(wanted[d.value], d)
	}
	draws := map[string]int{}
	// What ends this pass early costs evidence, nothing else.
	_ = eachOp(ctx, h, func(x harness.Op) {
		n, ok := parseNumber(x.Result)
		s := p.series[x.Key]
		if x.Kind != harness.Next || x.Outcome != harness.OK || !ok || s == nil || len(wanted) == 0 {
			return
		}
		draws[x.Key]++
		first := draw{Op: x, value: s.value(n), ordinal: draws[x.Key]}
		for _, d := range wanted[first.value] {
			d.first = &first
		}
		delete(wanted, first.value)
	})
	for _, d := range p.old {
		p.add(d.anomaly())
	}
}

func (d *oldDuplicate) anomaly() harness.Anomaly {
	if d.first != nil {
		return duplicateNumber(d.first, d.draw)
	}
	return harness.Anomaly{
		Class: harness.DuplicateNumber, Key: d.Key, From: d.Call, To: d.Return, Ops: []harness.Op{d.Op},
		Note: fmt.Sprintf("call %d of %s returned %s, which a call long before had returned", d.ordinal, d.Key, d.Result),
	}
}
