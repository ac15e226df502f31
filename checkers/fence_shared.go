package checkers

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file finds two owners with one fencing token. Whichever was granted the lock later should have got a larger one. If one grant had
// returned before the other was asked for, the largest tokens show it; here are grants that were under way at once.

// latestKept bounds the grants of one lock that are kept: at most twice as many.
const latestKept = 1024

// latestGrants holds the grants of one lock that returned since the slowest worker's last operation, in order of Return, and some older ones.
type latestGrants struct {
	grants []peak
	room   int // the number of grants from which on older ones are dropped
}

// sharing returns a grant to another owner with the token of x that had not returned when x was called.
func (l *latestGrants) sharing(x peak, meta harness.Meta) (harness.Op, bool) {
	for _, a := range slices.Backward(l.grants) {
		if a.Return < x.Call {
			break
		}
		if a.number == x.number && ownerOf(a.Op, meta) != ownerOf(x.Op, meta) {
			return a.Op, true
		}
	}
	return harness.Op{}, false
}

// returnedWith ranges over the grants that returned at t, the latest instant.
func (l *latestGrants) returnedWith(t time.Duration) iter.Seq[peak] {
	return func(yield func(peak) bool) {
		for _, a := range slices.Backward(l.grants) {
			if a.Return < t || !yield(a) {
				return
			}
		}
	}
}

// add keeps x. No operation to come was called before low.
func (l *latestGrants) add(x peak, low time.Duration) {
	if len(l.grants) >= max(16, l.room) {
		first := slices.IndexFunc(l.grants, func(a peak) bool { return a.Return >= low })
		if first < 0 {
			first = len(l.grants)
		}
		l.grants = slices.Delete(l.grants, 0, max(first, len(l.grants)-latestKept))
		l.room = 2 * len(l.grants)
	}
	l.grants = append(l.grants, x)
}

// sharedTokenAnomaly is about two owners with one token, of which the second returned later.
func sharedTokenAnomaly(first, second harness.Op) harness.Anomaly {
	found := pairAnomaly(harness.FenceRegression, first, second, fmt.Sprintf(
		"%s and %s were both granted %s with the fencing token %s, by %s and by %s: whoever came second should have got a larger one",
		clientName(first.Client), clientName(second.Client), second.Key, second.Result, formatTime(first.Return), formatTime(second.Return)))
	found.From = min(first.Call, second.Call)
	return found
}
