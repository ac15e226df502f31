package harness

import (
	"slices"
	"time"
)

// Influence is the time in which a fault may explain what went wrong: from its Start to Last.
//
// A fault explains what goes wrong while it is in force, and until the system is whole again: a primary that was cut off goes on
// granting locks until it follows the new one. Where another fault was in force after its heal, its End is when the system was
// whole after all of them, since nothing shows when it was whole after this one. Then its influence ends at most 3 s after its
// heal.
type Influence struct {
	Fault
	Last time.Duration // Forever: the record does not show an end
}

// unseen is the time for which a fault is taken to have effects after its heal, where the record does not show when they ended. With
// Sentinels a primary that comes back follows the new one within one to two seconds.
const unseen = 3 * time.Second

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
	beside := func(g Fault) bool { return g.Start < whole && g.Until() > f.Heal }
	if f.Heal == 0 || !slices.ContainsFunc(others, beside) {
		return whole
	}
	return min(whole, f.Heal+unseen)
}

// Overlaps reports whether the fault may explain what went wrong at some time of [from, to].
func (i Influence) Overlaps(from, to time.Duration) bool { return i.Start <= to && from <= i.Last }
