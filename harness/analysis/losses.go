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

// Losses counts the violations that belong to one failover, by those classes that were looked for.
type Losses map[harness.Class]int

// words says what was lost, as clauses.
func (l Losses) words() (all []string) {
	for _, class := range slices.Sorted(maps.Keys(l)) {
		if l[class] > 0 {
			all = append(all, fmt.Sprintf("%s %s", units.Count(int64(l[class])), class))
		}
	}
	return all
}

// Charge gives each failover its losses, in place: of the classes double-grant and lost-write those in looked, which
// were looked for. all are in order of their promotions. A double grant belongs to the last failover whose promotion it
// followed, one before all of them to the first. A lost write belongs to the failover that was under way when it was
// acknowledged, which is until the old primary ceased to be one; otherwise to the next one, which promoted a node that
// had not heard of it.
func Charge(all []Failover, found []harness.Finding, looked []harness.Class) {
	owners := map[harness.Class]func([]Failover, time.Duration) int{harness.DoubleGrant: lastBefore, harness.LostWrite: losing}
	looked = slices.DeleteFunc(slices.Clone(looked), func(class harness.Class) bool { return owners[class] == nil })
	if len(looked) == 0 {
		return
	}
	for i := range all {
		all[i].Losses = Losses{}
		for _, class := range looked {
			all[i].Losses[class] = 0
		}
	}
	for _, one := range found {
		if owner := owners[one.Class]; owner != nil && len(all) > 0 && slices.Contains(looked, one.Class) {
			all[owner(all, one.At)].Losses[one.Class] += one.Count
		}
	}
}

// lastBefore returns the index of the last failover whose promotion came before t; the first if none did. The record
// may show a promotion late, and a Finding says when it came about in whole steps: a little is allowed for both.
func lastBefore(all []Failover, t time.Duration) int {
	first := sort.Search(len(all), func(i int) bool { return all[i].Promoted-seenWithin-all[i].later > t })
	return max(0, first-1)
}

// losing returns the index of the failover in which a write was lost that was acknowledged at t.
func losing(all []Failover, t time.Duration) int {
	for i, f := range all {
		if t < f.Promoted || f.Minority > 0 && t < f.together() {
			return i
		}
	}
	return len(all) - 1
}

// together returns when there was one primary again: the old one had ceased to be one, or the new one was a replica.
func (f Failover) together() time.Duration {
	at := harness.Forever
	for _, end := range []time.Duration{f.Ceased, f.Until} {
		if end > 0 {
			at = min(at, end)
		}
	}
	return at
}
