// Package awake measures for how long this process was awake, and how often it stood still. So a failure that a
// standstill caused is not blamed on something else.
package awake

import (
	"sync"
	"time"
)

const (
	tick = 50 * time.Millisecond // longest time from one reading of a Clock to the next, while the process is awake
	step = 2 * tick              // longest time that one reading adds to the time awake

	// Standstill is the shortest time between two readings that counts as a standstill of the process.
	Standstill = 500 * time.Millisecond
)

// Clock counts the time in which this process was awake. Its goroutine takes a reading every tick. A long time without
// a reading means that nothing in this process ran: it was suspended, or the machine stood still or was too busy. Of so
// long a time, only the constant step counts as awake.
type Clock struct {
	began time.Time
	stop  chan struct{}
	ended chan struct{} // closed when the clock's goroutine has ended

	mu          sync.Mutex
	readAt      time.Duration // time of the last reading, counted from the field began
	awake       time.Duration
	standstills int
	longest     time.Duration // longest time between two readings
}

// New starts a clock. The caller calls Close.
func New() *Clock {
	c := &Clock{began: time.Now(), stop: make(chan struct{}), ended: make(chan struct{})}
	go c.goOn()
	return c
}

func (c *Clock) goOn() {
	defer close(c.ended)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.Read()
		case <-c.stop:
			return
		}
	}
}

// Close ends the clock.
func (c *Clock) Close() {
	close(c.stop)
	<-c.ended
}

// Read returns the time in which the process was awake so far, and the number of standstills, including one that has
// just ended.
func (c *Clock) Read() (awake time.Duration, standstills int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readAfter(time.Since(c.began))
}

// Longest returns the longest time between two readings so far. If it is Standstill or more, the process stood still
// for that long.
func (c *Clock) Longest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readAfter(time.Since(c.began))
	return c.longest
}

// readAfter takes a reading at the given time, which counts from the start of the clock. The caller holds c.mu.
func (c *Clock) readAfter(now time.Duration) (awake time.Duration, standstills int) {
	gap := now - c.readAt
	c.readAt = now
	if gap >= Standstill {
		c.standstills++
	}
	c.longest = max(c.longest, gap)
	c.awake += min(gap, step)
	return c.awake, c.standstills
}

// CallAt calls f once, when the process has been awake for the given time. The caller has to call cancel; after cancel
// returns, f is not called.
func (c *Clock) CallAt(until time.Duration, f func()) (cancel func()) {
	canceled, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			awake, _ := c.Read()
			if awake >= until {
				f()
				return
			}
			select {
			case <-time.After(until - awake):
			case <-canceled:
				return
			}
		}
	}()
	return func() {
		close(canceled)
		<-ended
	}
}
