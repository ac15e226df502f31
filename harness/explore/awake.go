package explore

import (
	"sync"
	"time"
)

// This file tells for how long this process was awake, and how often it stood still.

const (
	awakeTick  = 50 * time.Millisecond  // from one reading of an awakeClock to the next, at most, while the process is awake
	awakeStep  = 2 * awakeTick          // what one reading adds, at most
	standstill = 500 * time.Millisecond // from one reading to the next, at least, if the process stood still
)

// awakeClock counts the time in which this process was awake. Its goroutine reads it every awakeTick, so a long time without a reading is
// one in which nothing here was let run: somebody has stopped the process, or the machine stood still or was too busy. Of that time at most
// awakeStep counts.
type awakeClock struct {
	began time.Time
	stop  chan struct{}
	ended chan struct{} // closed when its goroutine has ended

	mu          sync.Mutex
	readAt      time.Duration // time of the last reading, since began
	awake       time.Duration
	standstills int
}

// newAwakeClock starts a clock. The caller calls close.
func newAwakeClock() *awakeClock {
	c := &awakeClock{began: time.Now(), stop: make(chan struct{}), ended: make(chan struct{})}
	go c.goOn()
	return c
}

func (c *awakeClock) goOn() {
	defer close(c.ended)
	tick := time.NewTicker(awakeTick)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.read()
		case <-c.stop:
			return
		}
	}
}

func (c *awakeClock) close() {
	close(c.stop)
	<-c.ended
}

// read returns the time in which the process was awake so far, and how often it stood still. A standstill that has just ended counts.
func (c *awakeClock) read() (awake time.Duration, standstills int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readAfter(time.Since(c.began))
}

// readAfter reads the clock when the machine's shows that much since it began. The caller holds c.mu.
func (c *awakeClock) readAfter(now time.Duration) (awake time.Duration, standstills int) {
	gap := now - c.readAt
	c.readAt = now
	if gap >= standstill {
		c.standstills++
	}
	c.awake += min(gap, awakeStep)
	return c.awake, c.standstills
}

// callAt calls f when the process has been awake for so long. The caller calls cancel, after which f is not called any more.
func (c *awakeClock) callAt(until time.Duration, f func()) (cancel func()) {
	canceled, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			awake, _ := c.read()
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
