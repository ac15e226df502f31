package analysis

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
)

// Compute computes the figures of a run and of its failovers. It reads h.Ops once, and its memory does not grow with
// the number of operations. Failovers refer to faults by their index in h.Faults. If reading fails, Compute returns the
// error and the figures of the operations before the error.
func Compute(h harness.History) (Stats, []Failover, error) {
	c, w := newCollector(h), newFailoverMeters(h)
	err := eachOp(h, c.add, w.add)
	return c.stats(), w.failovers(), err
}

// eachOp reads the operations once, and passes each operation to all of the functions.
func eachOp(h harness.History, to ...func(harness.Op)) error {
	if h.Ops == nil {
		return nil
	}
	for op, err := range h.Ops {
		if err != nil {
			return fmt.Errorf("analysis: read the history: %w", err)
		}
		for _, f := range to {
			f(op)
		}
	}
	return nil
}
