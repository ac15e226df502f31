package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// takeover is a promotion that replaced one primary by another, with the Sentinels' messages about it. Once operations
// have been read it becomes a Failover.
type takeover struct {
	*acts
	old, new       string
	presumed       string        // the node that Sentinels took for the primary: the old one, unless they were wrong
	promotedAt     time.Duration // time of the earliest sign that the new node was a primary
	demotedAt      time.Duration // when the new primary became a replica again; harness.Forever: never
	announced      *change       // the announced switch; nil: not announced
	messagesFrom   time.Duration // messages of Sentinels before this time are about the previous takeover
	previous, next time.Duration // promotedAt of the previous takeover (0: none) and the next (harness.Forever: none)
}

// takeovers lists the promotions of a run, ordered by time. An announcement that fits no recorded promotion counts as a
// promotion of its own.
func takeovers(a *acts) []*takeover {
	changes := a.changes()
	var all []*takeover
	for _, node := range slices.Sorted(maps.Keys(a.reigns)) {
		for i, r := range a.reigns[node] {
			if r.promoted {
				all = append(all, &takeover{acts: a, new: node, promotedAt: r.from, demotedAt: r.to,
					announced: a.announcement(node, i, changes)})
			}
		}
	}
	for i := range changes {
		c := &changes[i]
		about := func(t *takeover) bool { return t.new == c.new && c.first >= t.promotedAt-rolesWithin }
		recorded := slices.ContainsFunc(all, about)
		if len(a.redis) == 0 {
			recorded = c.isRepeatOf(changes[:i])
		}
		if !recorded {
			all = append(all, unseenPromotion(a, c))
		}
	}
	slices.SortStableFunc(all, func(x, y *takeover) int { return cmp.Compare(x.promotedAt, y.promotedAt) })
	for i, t := range all {
		t.next = harness.Forever
		if i > 0 {
			t.linkPrevious(all[i-1])
		}
		t.nameOld()
	}
	return all
}

// announcement returns the first announcement by Sentinels that fits one reign of the node. The parameter number is the
// index of that reign in a.reigns[node]. The result is nil if there is no announcement before the node's next
// promotion.
func (a *acts) announcement(node string, number int, changes []change) *change {
	until := harness.Forever
	for _, later := range a.reigns[node][number+1:] {
		if later.promoted {
			until = min(until, later.from-rolesWithin)
		}
	}
	for i := range changes {
		if c := &changes[i]; c.new == node && c.first >= a.reigns[node][number].from-rolesWithin && c.first < until {
			return c
		}
	}
	return nil
}

// linkPrevious records that another takeover came directly before t.
func (t *takeover) linkPrevious(earlier *takeover) {
	t.previous, t.messagesFrom, earlier.next = earlier.promotedAt, earlier.promotedAt, t.promotedAt
	if c := earlier.announced; c != nil && c.first < t.promotedAt {
		t.messagesFrom = max(t.messagesFrom, c.first)
	}
}

// unseenPromotion returns the takeover that the announcement c shows, for a promotion that the record of roles does not
// show.
func unseenPromotion(a *acts, c *change) *takeover {
	t := &takeover{acts: a, new: c.new, promotedAt: c.first, demotedAt: harness.Forever, announced: c}
	isEarlySign := func(e harness.Event) bool {
		return e.Kind == string(Promoted) || c.new != "" && e.Node == c.new && e.Kind == harness.EventWritable
	}
	if e, ok := a.firstEvent(c.previousEnd+1, c.first, isEarlySign); ok {
		t.promotedAt = e.At
	}
	return t
}

// nameOld finds the old primary. Of several primaries it takes the one that Sentinels wanted to replace.
func (t *takeover) nameOld() {
	if t.announced != nil {
		t.presumed = t.announced.old
	}
	if t.old = t.primaryBefore(t.promotedAt, t.new, t.presumed); t.presumed == "" {
		t.presumed = t.old
	}
}

// behind returns how many bytes of the old primary's replication stream the new one lacked when it was promoted. It
// returns 0 if the new primary lacked none, or if the record does not say.
func (t *takeover) behind() int64 {
	var old, promoted *harness.Event
	for _, e := range t.eventsSince(t.previous) {
		switch {
		case e.Kind != harness.EventOffset || e.At > t.promotedAt+2*t.roleDelay:
		case e.Node == t.old && e.At <= t.promotedAt+t.roleDelay:
			old = &e
		case e.Node == t.new && e.At >= t.promotedAt-t.roleDelay && promoted == nil:
			promoted = &e
		}
	}
	if old == nil || promoted == nil {
		return 0
	}
	return max(0, bytesOf(*old)-bytesOf(*promoted))
}

func bytesOf(e harness.Event) int64 {
	n, _ := strconv.ParseInt(e.Detail, 10, 64)
	return n
}

// wasPrimary reports whether the new primary was a primary at some time in [from, to].
func (t *takeover) wasPrimary(from, to time.Duration) bool {
	return to >= t.promotedAt-t.roleDelay && (t.demotedAt == harness.Forever || from <= t.demotedAt+t.roleDelay)
}
