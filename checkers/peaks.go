package checkers

import (
	"slices"
	"sort"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// peaksKept bounds the operations in peaks. When there are twice as many, every second one of the older half is
// dropped.
const peaksKept = 1024

// peaks finds, among the operations on one key, the one that had returned the largest number before a given time. It
// keeps each operation whose number was larger than all earlier ones. If two owners got the same largest number, it
// keeps one operation of each. Of the operations that returned before every later Call, only the largest remains.
//
// Memory is bounded even if a worker stays silent. For a time long ago, peaks may then find a smaller number than the
// largest, but never a larger one. mayMissLarger reports whether that may be so.
type peaks []peak

type peak struct {
	harness.Op
	number number
	// Operations that had returned before this time came before this peak. The time is at least the Call of the peak.
	orderedAfter time.Duration
	ordinal      int  // place among the operations of its key; 0: these are not counted
	gapBefore    bool // operations between this one and the previous one were dropped
}

// addIfLarger adds x if its number is larger than all earlier ones. A number that equals the largest is added only for
// a second owner. Operations have to come in order of Return. No later operation of a worker is called before the time
// in the parameter low.
func (p *peaks) addIfLarger(x peak, meta harness.Meta, low time.Duration) {
	all := *p
	if k := len(all); k > 0 {
		switch c := all[k-1].number.compare(x.number); {
		case c > 0, c == 0 && ownerOf(all[k-1].Op, meta) == ownerOf(x.Op, meta), c == 0 && k > 1 &&
			all[k-2].number == x.number:
			return
		}
	}
	if all == nil {
		all = make(peaks, 0, 4)
	}
	*p = append(all.prune(low).thin(), x)
}

// prune drops the peaks that had returned before the time in the parameter low, except the largest of them.
func (p peaks) prune(low time.Duration) peaks {
	if len(p) < 2 || p[1].Return >= low {
		return p
	}
	last := len(p.returnedBefore(low)) - 1
	if p[last-1].number == p[last].number { // p[1] had returned, so last is not 0
		last--
	}
	if last > 0 {
		p[last].gapBefore = true // for callers that are not among the workers
	}
	return slices.Delete(p, 0, last)
}

// thin drops every second operation of the older half of p if there are too many.
func (p peaks) thin() peaks {
	if len(p) < 2*peaksKept {
		return p
	}
	for i := range peaksKept / 2 {
		p[i] = p[2*i+1]
		p[i].gapBefore = true
	}
	return slices.Delete(p, peaksKept/2, peaksKept)
}

// returnedBefore lists the peaks that had returned before t. It tries the latest first, since most calls are recent.
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

// mayMissLarger reports whether returnedBefore(t) may lack an operation that returned a number larger than n before t,
// because that operation was dropped.
func (p peaks) mayMissLarger(t time.Duration, n number) bool {
	next := len(p.returnedBefore(t))
	return next < len(p) && p[next].gapBefore && n.compare(p[next].number) < 0
}

// top returns the last and largest peak, or the zero value if there is none.
func (p peaks) top() peak {
	if len(p) == 0 {
		return peak{}
	}
	return p[len(p)-1]
}
