package checkers

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// awakeShare returns the share of the time [from, to], as a number from 0 to 1, in which a worker was not frozen by a
// fault, on average over all workers. It is 1 if the time has no length. The faults have to be in order of their Start.
func awakeShare(h harness.History, from, to time.Duration) float64 {
	length := to - from
	if length <= 0 {
		return 1
	}
	workers, groups := max(1, h.Meta.Workers), max(1, h.Meta.Groups)
	acting := 0.0
	for group := range groups {
		members := (workers - group + groups - 1) / groups // worker w is in group w mod groups
		acting += float64(members) * float64(length-frozenFor(h.Faults, group, from, to))
	}
	return acting / (float64(workers) * float64(length))
}

// frozenFor returns for how long faults froze the group within [from, to]. Overlapping faults count once.
func frozenFor(faults []harness.Fault, group int, from, to time.Duration) (sum time.Duration) {
	for _, f := range faults {
		if start, end := max(from, f.Start), min(to, f.InForceUntil()); slices.Contains(f.Frozen, group) &&
			start < end {
			sum += end - start
			from = end
		}
	}
	return sum
}
