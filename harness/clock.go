package harness

import "time"

// Clock counts from the start of a run. It is monotonic: changes of the wall clock do not affect it.
type Clock struct {
	start time.Time
	ahead time.Duration // how far the clock is ahead; set by Skewed
	rate  float64       // how many seconds the clock gains each second; set by Skewed
}

// NewClock returns a clock that reads zero now.
func NewClock() Clock { return Clock{start: time.Now()} }

// Now returns the time since the start of the run.
func (c Clock) Now() time.Duration {
	now := time.Since(c.start)
	if c.ahead == 0 && c.rate == 0 {
		return now
	}
	return now + c.ahead + time.Duration(float64(now)*c.rate)
}

// Started returns the wall-clock time of the start of the run.
func (c Clock) Started() time.Time { return c.start }

// Skewed returns a clock that is ahead of c by the given time, and gains the given number of seconds on c in each
// second. Tests of clock comparison use it.
func (c Clock) Skewed(ahead time.Duration, rate float64) Clock {
	c.ahead, c.rate = c.ahead+ahead, c.rate+rate
	return c
}
