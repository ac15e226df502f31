package fabric

import (
	"sync/atomic"

	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/doublegrant/doublegrant/harness"
)

// traffic counts what a link's faults touch. It leaves out the harness's own connections, which check whether a fault
// acts: they must not make an unused link look busy.
type traffic struct {
	withheld, waited, reset, passed, ended atomic.Int64
	// acting is the number of toxics in force in each direction.
	acting [2]atomic.Int32
}

// Touched returns what the link's faults have touched so far, without the harness's own connections.
func (l *Link) Touched() harness.Touched {
	t := &l.traffic
	return harness.Touched{
		Withheld: t.withheld.Load(), Waited: t.waited.Load(), Reset: t.reset.Load(), Passed: t.passed.Load(),
		Ended: t.ended.Load(),
	}
}

// countToxic counts a toxic that comes (the parameter change is 1) or goes (-1).
func (t *traffic) countToxic(of toxic, change int32) {
	for _, d := range of.dirs {
		t.acting[direction(d)].Add(change)
	}
}

func direction(d stream.Direction) int {
	if d == stream.Upstream {
		return 0
	}
	return 1
}

// countWithheld counts bytes that a withheld link holds up. The end of a connection counts as one byte. The parameter
// withheld is a result of link.restored: if it is nil, the link is not withheld, and nothing is counted.
func (c *dialed) countWithheld(withheld <-chan struct{}, bytes int) {
	if withheld != nil && !c.uncounted {
		c.link.traffic.withheld.Add(max(1, int64(bytes)))
	}
}

// countWaiting counts a connection that is opened while the link is withheld.
func (c *dialed) countWaiting() {
	if !c.uncounted {
		c.link.traffic.waited.Add(1)
	}
}

// countReset counts a connection that is reset or refused.
func (c *dialed) countReset() {
	if !c.uncounted {
		c.link.traffic.reset.Add(1)
	}
}

// countPassing counts bytes that are about to go through the toxics in force.
func (c *dialed) countPassing(d stream.Direction, bytes int) {
	if bytes > 0 && !c.uncounted && c.link.traffic.acting[direction(d)].Load() > 0 {
		c.link.traffic.passed.Add(int64(bytes))
	}
}

// countEnded counts a connection that toxics ended before all its bytes had passed. It counts each connection once.
func (c *dialed) countEnded(d stream.Direction) {
	if !c.uncounted && c.link.traffic.acting[direction(d)].Load() > 0 && c.cut.CompareAndSwap(false, true) {
		c.link.traffic.ended.Add(1)
	}
}
