package plan

import (
	"time"
)

// Durations that a run needs beside its load and its faults, measured on two cores. They are for estimates only.
const (
	startAlone   = 500 * time.Millisecond // time that the start of one node takes
	startCluster = 3 * time.Second        // time until every Sentinel knows every other
	recovery     = 2 * time.Second        // time from the heal of a fault until the system works again
	finalChecks  = time.Second            // time that the final reads and the verdict take

	usuallyThorough = 40 * time.Second // time until each situation has occurred often enough
)

// Estimate estimates how long a run of the plan takes. It returns an error if the plan is impossible.
func (p Plan) Estimate() (time.Duration, error) {
	r, err := p.Resolve()
	if err != nil {
		return 0, err
	}
	return r.expectedLength(), nil
}

func (r Resolved) expectedLength() time.Duration {
	start := startAlone
	if r.on.sentinels > 0 {
		start = startCluster
	}
	load := r.Duration
	if r.Thorough { // most loads have met every situation by then
		load = min(load, usuallyThorough)
	}
	return start + max(load, r.underFaults()) + finalChecks
}

// underFaults estimates the load that the faults need: the longest track, and the calm after it.
func (r Resolved) underFaults() (longest time.Duration) {
	for _, name := range r.faults.names {
		track := time.Duration(0)
		for _, s := range r.faults.tracks[name] {
			track += s.Start + s.For + recovery
		}
		longest = max(longest, track)
	}
	if longest == 0 {
		return 0
	}
	return longest + r.lastCalm()
}
