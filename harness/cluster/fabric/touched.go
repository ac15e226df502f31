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

// countToxic counts a toxic that comes (change is 1) or goes (change is -1).
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

// passage is one connection on a link, for counting. The connection's ends and pipelines share it.
type passage struct {
	link *Link
	own  bool        // the connection is the harness's own, and not counted
	cut  atomic.Bool // countEnded has counted it
}

// countWithheld counts bytes that meet a withheld link. The end of a connection counts as one byte.
func (p *passage) countWithheld(withheld <-chan struct{}, bytes int) {
	if withheld != nil && !p.own {
		p.link.traffic.withheld.Add(max(1, int64(bytes)))
	}
}

// countWaiting counts a connection that is opened while the link is withheld.
func (p *passage) countWaiting() {
	if !p.own {
		p.link.traffic.waited.Add(1)
	}
}

// countReset counts a connection that is reset or refused.
func (p *passage) countReset() {
	if !p.own {
		p.link.traffic.reset.Add(1)
	}
}

// countPassing counts bytes on their way to the toxics in force.
func (p *passage) countPassing(d stream.Direction, bytes int) {
	if bytes > 0 && !p.own && p.link.traffic.acting[direction(d)].Load() > 0 {
		p.link.traffic.passed.Add(int64(bytes))
	}
}

// countEnded counts a connection that toxics ended in the middle of its bytes.
func (p *passage) countEnded(d stream.Direction) {
	if !p.own && p.link.traffic.acting[direction(d)].Load() > 0 && p.cut.CompareAndSwap(false, true) {
		p.link.traffic.ended.Add(1)
	}
}
