package checkers

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file judges how well the clocks of a run's generators were known. Every operation's interval is widened by the
// uncertainty. So each violation that is found is real, however large the uncertainty is, but wide intervals hide
// violations.

// widestClockBound returns the largest uncertainty of any generator's clock. It is 0 for a run in one process.
func widestClockBound(events []harness.Event) (widest time.Duration) {
	for _, e := range events {
		if e.Kind != harness.EventClockBound {
			continue
		}
		if bound, err := time.ParseDuration(e.Detail); err == nil {
			widest = max(widest, bound)
		}
	}
	return widest
}

// leasesPerClockBound is the lowest allowed ratio of the shortest lease or window to the uncertainty of the clocks.
// With a lower ratio, a checker might miss two owners that hold a lock at one time.
const leasesPerClockBound = 4

// noteLease lowers p.shortestLease to the lease or window of x, if x was granted one and it is shorter.
func (p *gatesPass) noteLease(x harness.Op) {
	if x.TTL > 0 && x.Outcome == harness.OK && (x.Kind == harness.Acquire || x.Kind == harness.Claim) &&
		(p.shortestLease == 0 || x.TTL < p.shortestLease) {
		p.shortestLease = x.TTL
	}
}

// looseClocks returns a reason for Unknown if the uncertainty of the clocks is more than a quarter of the shortest
// lease.
func (p *gatesPass) looseClocks() []string {
	if p.shortestLease == 0 || p.clockBound <= p.shortestLease/leasesPerClockBound {
		return nil
	}
	return []string{fmt.Sprintf("the clocks of the generators were known to within %v only, and the shortest lease or "+
		"window is %v: two owners within so little time would not be seen", p.clockBound, p.shortestLease)}
}
