package analysis

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Losses counts the violations of one failover, by class. It has an entry for each class that a checker looked for,
// even if the checker found none.
type Losses map[harness.Class]int

// words describes the losses, one clause for each class.
func (l Losses) words() (all []string) {
	for _, class := range slices.Sorted(maps.Keys(l)) {
		if l[class] > 0 {
			all = append(all, fmt.Sprintf("%s %s", units.Count(int64(l[class])), class))
		}
	}
	return all
}

// AssignLosses assigns the findings to failovers and sets their Losses in place. It counts only double-grant and
// lost-write, and of these only the classes that the parameter checked lists. The failovers have to be ordered by
// promotion.
//
// A double grant belongs to the last failover promoted before it, or to the first failover if there is none before it.
// A lost write belongs to the failover that was under way when the write was acknowledged. A failover is under way
// until its old primary has stopped being a primary. If none was under way, the write belongs to the next failover,
// whose new primary did not have the write.
func AssignLosses(all []Failover, found []harness.Finding, checked []harness.Class) {
	owners := map[harness.Class]func([]Failover, time.Duration) int{
		harness.DoubleGrant: lastBefore, harness.LostWrite: losingFailover,
	}
	checked = slices.DeleteFunc(slices.Clone(checked), func(class harness.Class) bool { return owners[class] == nil })
	if len(checked) == 0 {
		return
	}
	for i := range all {
		all[i].Losses = Losses{}
		for _, class := range checked {
			all[i].Losses[class] = 0
		}
	}
	for _, one := range found {
		if owner := owners[one.Class]; owner != nil && len(all) > 0 && slices.Contains(checked, one.Class) {
			all[owner(all, one.At)].Losses[one.Class] += one.Count
		}
	}
}

// lastBefore returns the index of the last failover that was promoted before t, or 0 if there is none. A promotion may
// also be recorded shortly after t, since promotions are recorded late and t is rounded down.
func lastBefore(all []Failover, t time.Duration) int {
	first := sort.Search(len(all), func(i int) bool { return all[i].Promoted-maxRoleDelay-all[i].extraDelay > t })
	return max(0, first-1)
}

// losingFailover returns the index of the failover that lost a write. The write was acknowledged at t.
func losingFailover(all []Failover, t time.Duration) int {
	for i, f := range all {
		if t < f.Promoted || f.MinorityWrites > 0 && t < f.onePrimaryAt() {
			return i
		}
	}
	return len(all) - 1
}

// onePrimaryAt returns when there was only one primary again, since the old or the new one had become a replica.
func (f Failover) onePrimaryAt() time.Duration {
	at := harness.Forever
	for _, end := range []time.Duration{f.OldUntil, f.NewUntil} {
		if end > 0 {
			at = min(at, end)
		}
	}
	return at
}
