package checkers

import (
	"slices"
	"sort"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// peaksKept bounds peaks: once it has twice as many operations, it drops every second one of the older half.
const peaksKept = 1024

// peaks tells which operation of one key had returned the largest number before some time. It keeps the operations whose number
// was larger than all before, and of those with equal numbers two, of different owners. Of those that had returned before the
// watermark only the largest remains. Memory is bounded even where a worker stays silent: for a time long ago, peaks may then know
// a smaller number than the largest, never a larger one. unsure reports whether that matters.
type peaks []peak

type peak struct {
	harness.Op
	number  number
	after   time.Duration // whatever had returned before this time came before it; its Call at the earliest
	ordinal int           // among the operations of its key, for those who count them
	gap     bool          // others between this one and the one before it were dropped
}

// addIfLarger notes x, if no more than one owner has returned as much. Operations come in order of Return, and none is called
// before low any more.
func (p *peaks) addIfLarger(x peak, meta harness.Meta, low time.Duration) {
	all := *p
	if k := len(all); k > 0 {
		switch c := all[k-1].number.compare(x.number); {
		case c > 0, c == 0 && ownerOf(all[k-1].Op, meta) == ownerOf(x.Op, meta), c == 0 && k > 1 && all[k-2].number == x.number:
			return
		}
	}
	if all == nil {
		all = make(peaks, 0, 4)
	}
	*p = append(all.prune(low).thin(), x)
}

// prune drops what had returned before low, but for the largest number.
func (p peaks) prune(low time.Duration) peaks {
	if len(p) < 2 || p[1].Return >= low {
		return p
	}
	last := len(p.returnedBefore(low)) - 1
	if p[last-1].number == p[last].number { // p[1] had returned, so last is not 0
		last--
	}
	if last > 0 {
		p[last].gap = true // to whoever is not counted among the workers
	}
	return slices.Delete(p, 0, last)
}

// thin drops every second one of the older half of the peaks, if they are too many.
func (p peaks) thin() peaks {
	if len(p) < 2*peaksKept {
		return p
	}
	for i := range peaksKept / 2 {
		p[i] = p[2*i+1]
		p[i].gap = true
	}
	return slices.Delete(p, peaksKept/2, peaksKept)
}

// returnedBefore lists the peaks that had returned before t. It looks among the latest ones first, as most calls are young.
func (p peaks) returnedBefore(t time.Duration) peaks {
	low, high := 0, len(p)
	for step := 1; low < high; step *= 2 {
		i := max(0, len(p)-step)
		if p[i].Return < t {
			low = i + 1
			break
		}
		high = i
	}
	return p[:low+sort.Search(high-low, func(i int) bool { return p[low+i].Return >= t })]
}

// unsure reports whether a number larger than n may have been dropped that had returned before t, although before(t) has
// none.
func (p peaks) unsure(t time.Duration, n number) bool {
	next := len(p.returnedBefore(t))
	return next < len(p) && p[next].gap && n.compare(p[next].number) < 0
}

// top returns the last peak, which is the largest; the zero value if there is none.
func (p peaks) top() peak {
	if len(p) == 0 {
		return peak{}
	}
	return p[len(p)-1]
}
