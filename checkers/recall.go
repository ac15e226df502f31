package checkers

import (
	"context"
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
)

// recallAtMost bounds the duplicates in sequencePass.oldDuplicates.
const recallAtMost = 1000

// oldDuplicate is a call that returned a number which an earlier call had returned. The earlier call is no longer kept.
type oldDuplicate struct {
	draw
	first *draw // the draw of the earlier call; nil until it is found
}

// keepOldDuplicate keeps a draw (the parameter this) until the end. The draw is a duplicate of one that is no longer
// kept. If too many are kept already, keepOldDuplicate reports it at once, without the first draw.
func (p *sequencePass) keepOldDuplicate(this draw) {
	d := &oldDuplicate{draw: this}
	if len(p.oldDuplicates) < recallAtMost {
		p.oldDuplicates = append(p.oldDuplicates, d)
		return
	}
	p.add(d.anomaly())
}

// recall reports the duplicates that were kept for the end. It looks for their first draws in a second pass over the
// history, if the history can be read again.
func (p *sequencePass) recall(ctx context.Context, h harness.History) {
	if len(p.oldDuplicates) == 0 {
		return
	}
	wanted := map[value][]*oldDuplicate{}
	for _, d := range p.oldDuplicates {
		wanted[d.value] = append(wanted[d.value], d)
	}
	draws := map[string]int{}
	// An error that ends this pass early only costs evidence.
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
	for _, d := range p.oldDuplicates {
		p.add(d.anomaly())
	}
}

func (d *oldDuplicate) anomaly() harness.Anomaly {
	if d.first != nil {
		return duplicateNumber(d.first, d.draw)
	}
	return harness.Anomaly{
		Class: harness.DuplicateNumber, Key: d.Key, From: d.Call, To: d.Return, Ops: []harness.Op{d.Op},
		Note: fmt.Sprintf("call %d of %s returned %s, which a call long before had returned", d.ordinal, d.Key,
			d.Result),
	}
}
