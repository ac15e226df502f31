package checkers

import (
	"context"
	"strconv"

	"github.com/doublegrant/doublegrant/harness"
)

// LostWrites lists the acknowledged writes of a history that its final reads do not show, in order of Return. [Writes]
// reports the same writes, several in a row as one anomaly. Sets that were never read lose none. Memory grows with what
// the reads found and with what is lost.
func LostWrites(ctx context.Context, h harness.History) ([]harness.Op, error) {
	p := &writesPass{tally: newTally(h, func(harness.Anomaly) {}), sets: map[string]*set{}}
	if err := eachOp(ctx, h, p.collect); err != nil {
		return nil, err
	}
	for _, s := range p.sets {
		s.present, s.err = s.survivors()
	}
	var lost []harness.Op
	err := eachOp(ctx, h, func(x harness.Op) {
		s := p.sets[x.Key]
		if s == nil || s.err != nil || x.Kind != harness.Add || x.Outcome != harness.OK || x.Return >= s.final.Call {
			return
		}
		if v, err := strconv.ParseInt(x.Arg, 10, 64); err == nil && !s.present.has(v) {
			lost = append(lost, x)
		}
	})
	return lost, err
}
