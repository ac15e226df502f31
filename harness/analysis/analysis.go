package analysis

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
)

// Of reads h.Ops once, in memory that does not grow with their number. Failovers name faults by their index in h.Faults.
// Beside an error it returns what it had read.
func Of(h harness.History) (Stats, []Failover, error) {
	c, w := newCollector(h), newWatchers(h)
	err := eachOp(h, c.add, w.add)
	return c.stats(), w.failovers(), err
}

// eachOp passes every operation to each of the functions, in one reading.
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
