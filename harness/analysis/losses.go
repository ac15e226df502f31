package analysis

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Losses counts what checkers found that belongs to one failover.
type Losses struct {
	Writes int `json:"writes"` // acknowledged writes that were not there in the end
	Grants int `json:"grants"` // double grants
}

// words says what was lost, as clauses.
func (l Losses) words() (all []string) {
	if l.Grants > 0 {
		all = append(all, fmt.Sprintf("%s double grants", units.Count(int64(l.Grants))))
	}
	if l.Writes > 0 {
		all = append(all, fmt.Sprintf("%s writes lost", units.Count(int64(l.Writes))))
	}
	return all
}

// Charge gives each failover its losses, in place. all are in order of their promotions. A double grant belongs to the
// last failover whose promotion it followed, one before all of them to the first. A lost write belongs to the failover
// that was under way when it was acknowledged, which is until the old primary joined; otherwise to the next one, which
// promoted a node that had not heard of it.
func Charge(all []Failover, found []harness.Finding) {
	for i := range all {
		all[i].Losses = &Losses{}
	}
	for _, one := range found {
		switch {
		case len(all) == 0:
			return
		case one.Class == harness.DoubleGrant:
			all[lastBefore(all, one.At)].Losses.Grants += one.Count
		case one.Class == harness.LostWrite:
			all[losing(all, one.At)].Losses.Writes += one.Count
		}
	}
}

// lastBefore returns the index of the last failover whose promotion came before t; the first if none did.
func lastBefore(all []Failover, t time.Duration) (last int) {
	for i, f := range all {
		if f.Promoted <= t {
			last = i
		}
	}
	return last
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

// together returns when there was one primary again: the old one had joined, or the new one was a replica again.
func (f Failover) together() time.Duration {
	joined := f.Stage(Rejoined)
	switch {
	case joined.Seen:
		return joined.At
	case f.Until > 0:
		return f.Until
	}
	return harness.Forever
}
