package analysis

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
)

// Of reads h.Ops once, in memory that does not grow with their number. Failovers name faults by their index in h.Faults. With an
// error it returns the figures of what it had read.
func Of(h harness.History) (Stats, []Failover, error) {
	c, w := newCollector(h), newFailoverMeters(h)
	err := eachOp(h, c.add, w.add)
	return c.stats(), w.failovers(), err
}

// eachOp reads the operations once and passes each to all of the functions.
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
