package checkers

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file judges how well the clocks of a run's generators were known. Their operations are widened by what is not known, so a
// violation stands whatever it is; but wide intervals excuse much.

// clocksOf returns how well the worst of the generators' clocks was known; 0 for a run in one process.
func clocksOf(events []harness.Event) (widest time.Duration) {
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

// boundShare is the largest part of a lease or window by which clocks may be unknown.
const boundShare = 4

// noteLease notes the shortest lease or window that was granted.
func (p *gatesPass) noteLease(x harness.Op) {
	if x.TTL > 0 && x.Outcome == harness.OK && (x.Kind == harness.Acquire || x.Kind == harness.Claim) && (p.shortest == 0 || x.TTL < p.shortest) {
		p.shortest = x.TTL
	}
}

// looseClocks returns what is missing if the generators' clocks were known too little.
func (p *gatesPass) looseClocks() []string {
	if p.shortest == 0 || p.clocks <= p.shortest/boundShare {
		return nil
	}
	return []string{fmt.Sprintf("the clocks of the generators were known to within %v only, and the shortest lease or window is %v: "+
		"two owners within so little time would not be seen", p.clocks, p.shortest)}
}
