package harness

import "time"

// Clock counts from the start of a run. It is monotonic: it takes no notice of steps of the wall clock.
type Clock struct{ start time.Time }

// NewClock returns a clock that reads zero now.
func NewClock() Clock { return Clock{start: time.Now()} }

// Now returns the time since the start of the run.
func (c Clock) Now() time.Duration { return time.Since(c.start) }

// Started returns the wall-clock time of the start of the run.
func (c Clock) Started() time.Time { return c.start }
