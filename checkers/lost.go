package checkers

import (
	"context"
	"strconv"

	"github.com/doublegrant/doublegrant/harness"
)

// LostWrites lists the acknowledged writes of a history that its final reads do not show, in order of Return: those that
// [Writes] finds in runs, one by one. Sets that were never read lose none. Memory is what the reads found and what is lost.
func LostWrites(ctx context.Context, h harness.History) ([]harness.Op, error) {
	p := &writesPass{tally: newTally(h, func(harness.Anomaly) {}), sets: map[string]*set{}}
	if err := each(ctx, h, p.collect); err != nil {
		return nil, err
	}
	for _, s := range p.sets {
		s.there, s.err = s.survivors()
	}
	var lost []harness.Op
	err := each(ctx, h, func(x harness.Op) {
		s := p.sets[x.Key]
		if s == nil || s.err != nil || x.Kind != harness.Add || x.Outcome != harness.OK || x.Return >= s.final.Call {
			return
		}
		if v, err := strconv.ParseInt(x.Arg, 10, 64); err == nil && !s.there.has(v) {
			lost = append(lost, x)
		}
	})
	return lost, err
}
