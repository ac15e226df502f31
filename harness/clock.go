package harness

import "time"

// Clock counts from the start of a run. It is monotonic: steps of the wall clock do not show.
type Clock struct{ start time.Time }

// NewClock returns a clock that reads zero now.
func NewClock() Clock { return Clock{start: time.Now()} }

// Now is the time since the start of the run.
func (c Clock) Now() time.Duration { return time.Since(c.start) }

// Started is the wall-clock time of the start of the run.
func (c Clock) Started() time.Time { return c.start }
