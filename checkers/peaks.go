package checkers

import (
	"cmp"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// peaksKept is how many operations peaks keeps at least. It drops the oldest once it has twice as many.
const peaksKept = 1024

// peaks answers which of the operations of one key had returned the largest number before some time. It keeps those that
// returned a number larger than all before, and of equal ones those of two owners at least. Its memory has a bound: of a
// time before what it still has, it says nothing.
type peaks []peak

type peak struct {
	harness.Op
	number number
}

// raise notes x, which returned n, if no more than one owner has returned as much. Operations come in order of Return.
func (p *peaks) raise(x harness.Op, n number, meta harness.Meta) {
	all := *p
	if k := len(all); k > 0 {
		switch c := all[k-1].number.compare(n); {
		case c > 0, c == 0 && ownerOf(all[k-1].Op, meta) == ownerOf(x, meta), c == 0 && k > 1 && all[k-2].number == n:
			return
		}
	}
	if len(all) == 2*peaksKept {
		all = all[:copy(all, all[peaksKept:])]
	}
	*p = append(all, peak{x, n})
}

// before lists the peaks that had returned before t.
func (p peaks) before(t time.Duration) peaks {
	n, _ := slices.BinarySearchFunc(p, t, func(e peak, t time.Duration) int { return cmp.Compare(e.Return, t) })
	return p[:n]
}

// top is the last peak, the largest; zero for none.
func (p peaks) top() peak {
	if len(p) == 0 {
		return peak{}
	}
	return p[len(p)-1]
}
