package checkers

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file finds two owners with one fencing token. The one that was granted the lock later should have got a larger
// token. If one grant returned before the other was called, the largest tokens show that. This file finds the rest:
// grants that were under way at the same time.

// latestKept is the number of grants of one lock that remain when older ones are dropped. Twice as many may be kept
// before older grants are dropped again.
const latestKept = 1024

// latestGrants holds the latest grants of one lock, in order of Return. They are the grants since the last operation of
// the slowest worker, and some older ones.
type latestGrants struct {
	grants  []peak
	pruneAt int // the number of grants at which older ones are dropped
}

// withSameToken returns a grant to another owner that has the same token as x and had not returned when x was called.
func (l *latestGrants) withSameToken(x peak, meta harness.Meta) (harness.Op, bool) {
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

// returnedAt ranges over the grants that returned at the time t, which is the last Return so far.
func (l *latestGrants) returnedAt(t time.Duration) iter.Seq[peak] {
	return func(yield func(peak) bool) {
		for _, a := range slices.Backward(l.grants) {
			if a.Return < t || !yield(a) {
				return
			}
		}
	}
}

// add keeps x. If many grants are kept, add drops old ones, among them all that had returned before the time in the
// parameter low. No later operation of a worker is called before that time.
func (l *latestGrants) add(x peak, low time.Duration) {
	if len(l.grants) >= max(16, l.pruneAt) {
		first := slices.IndexFunc(l.grants, func(a peak) bool { return a.Return >= low })
		if first < 0 {
			first = len(l.grants)
		}
		l.grants = slices.Delete(l.grants, 0, max(first, len(l.grants)-latestKept))
		l.pruneAt = 2 * len(l.grants)
	}
	l.grants = append(l.grants, x)
}

// sharedTokenAnomaly returns the anomaly of two owners that were granted the lock with one token. The parameter second
// is the grant that returned later.
func sharedTokenAnomaly(first, second harness.Op) harness.Anomaly {
	anomaly := pairAnomaly(harness.FenceRegression, first, second, fmt.Sprintf(
		"%s and %s were both granted %s with the fencing token %s, by %s and by %s: whoever came second should have "+
			"got a larger one",
		clientName(first.Client), clientName(second.Client), second.Key, second.Result, formatTime(first.Return),
		formatTime(second.Return)))
	anomaly.From = min(first.Call, second.Call)
	return anomaly
}
