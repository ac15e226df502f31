package checkers

import (
	"context"

	"github.com/doublegrant/doublegrant/harness"
)

// LostWrites lists the acknowledged writes of a history that its final reads do not show, in order of Return: those that
// [Writes] finds in runs, one by one. Sets that were never read lose none. Memory is linear, as that of Writes.
func LostWrites(ctx context.Context, h harness.History) ([]harness.Op, error) {
	p := &writesPass{tally: newTally(h, func(harness.Anomaly) {}), sets: map[string]*set{}, ledger: newLedger(h)}
	if err := each(ctx, h, p.op); err != nil {
		return nil, err
	}
	there := map[string]intervals{}
	for key, s := range p.sets {
		in, err := s.survivors()
		if err != nil {
			continue
		}
		there[key] = in
	}
	var lost []harness.Op
	err := each(ctx, h, func(x harness.Op) {
		if in, read := there[x.Key]; read && x.Kind == harness.Add && x.Outcome == harness.OK && x.Return < p.sets[x.Key].read.Call {
			if v, err := parseInterval(x.Arg); err == nil && !in.has(v.low) {
				lost = append(lost, x)
			}
		}
	})
	return lost, err
}
