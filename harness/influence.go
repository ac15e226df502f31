package harness

import (
	"slices"
	"time"
)

// Influence is the time in which a fault may explain a violation: from its Start to Last.
//
// A fault explains violations while it is in force and until the system is whole again: a primary that was cut off goes
// on granting locks until it follows the new one. If a second fault was in force when the first was healed, both have
// the same End: the time when the system was whole after both. The system may have recovered from the first fault long
// before, so the influence of the first fault ends at most 3 s after its heal.
type Influence struct {
	Fault
	Last time.Duration // end of the influence; Forever: the record does not show one
}

// assumedRecovery is how long the recovery after a heal is assumed to take if the record does not show it. With
// Sentinels a primary that comes back follows the new one within one to two seconds.
const assumedRecovery = 3 * time.Second

// Influences returns the influence of each fault, in the same order.
func Influences(faults []Fault) []Influence {
	all := make([]Influence, len(faults))
	for i, f := range faults {
		all[i] = Influence{f, f.influenceEnd(slices.Concat(faults[:i], faults[i+1:]))}
	}
	return all
}

// influenceEnd returns the end of f's influence, given the other faults of the run.
func (f Fault) influenceEnd(others []Fault) time.Duration {
	whole := f.End
	if whole == 0 {
		whole = Forever
	}
	delaysRecovery := func(g Fault) bool { return g.Start < whole && g.InForceUntil() > f.Heal }
	if f.Heal == 0 || !slices.ContainsFunc(others, delaysRecovery) {
		return whole
	}
	return min(whole, f.Heal+assumedRecovery)
}

// Overlaps reports whether the fault may explain a violation at some time of [from, to].
func (i Influence) Overlaps(from, to time.Duration) bool { return i.Start <= to && from <= i.Last }
