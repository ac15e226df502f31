package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// takeover is one node taking the place of another as the primary: a promotion, with what Sentinels said of it. It is a Failover
// whose operations were not read yet.
type takeover struct {
	*acts
	old, new  string
	subject   string        // the node whose place Sentinels wanted to fill; old, unless they were wrong about the primary
	at        time.Duration // the earliest sign that new was a primary
	until     time.Duration // when new was seen as a replica again; harness.Forever: never
	announced *change       // nil: no Sentinel announced it
	heard     time.Duration // messages of Sentinels before this time are about the takeover before
	from, end time.Duration // at of the takeover before (0: there is none), and of the next (harness.Forever: likewise)
}

// takeovers lists the promotions of a run in order of time. An announcement without a promotion counts only where the
// record shows no promotion that it can be about.
func takeovers(a *acts) []*takeover {
	changes := changesOf(a.events)
	var all []*takeover
	for _, node := range slices.Sorted(maps.Keys(a.reigns)) {
		for i, r := range a.reigns[node] {
			if r.promoted {
				all = append(all, &takeover{acts: a, new: node, at: r.from, until: r.to, announced: a.announcement(node, i, changes)})
			}
		}
	}
	for i := range changes {
		c := &changes[i]
		about := func(t *takeover) bool { return t.new == c.new && c.first >= t.at-rolesWithin }
		known := slices.ContainsFunc(all, about)
		if len(a.redis) == 0 {
			known = c.repeats(changes[:i])
		}
		if !known {
			all = append(all, unseenPromotion(a, c))
		}
	}
	slices.SortStableFunc(all, func(x, y *takeover) int { return cmp.Compare(x.at, y.at) })
	for i, t := range all {
		t.end = harness.Forever
		if i > 0 {
			t.follow(all[i-1])
		}
		t.nameOld()
	}
	return all
}

// announcement returns the first announcement of the node's reign of that number, before it is promoted again; nil if
// there is none.
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

// follow notes that the takeover is the next after before.
func (t *takeover) follow(before *takeover) {
	t.from, t.heard, before.end = before.at, before.at, t.at
	if c := before.announced; c != nil && c.first < t.at {
		t.heard = max(t.heard, c.first)
	}
}

// unseenPromotion returns the takeover of an announcement whose promotion no role shows.
func unseenPromotion(a *acts, c *change) *takeover {
	t := &takeover{acts: a, new: c.new, at: c.first, until: harness.Forever, announced: c}
	early := func(e harness.Event) bool {
		return e.Kind == string(Promoted) || c.new != "" && e.Node == c.new && e.Kind == harness.EventWritable
	}
	if e, ok := a.first(c.after+1, c.first, early); ok {
		t.at = e.At
	}
	return t
}

// nameOld finds the primary before: a node that was one, if possible the one that Sentinels wanted to replace.
func (t *takeover) nameOld() {
	if t.announced != nil {
		t.subject = t.announced.old
	}
	if t.old = t.primaryBefore(t.at, t.new, t.subject); t.subject == "" {
		t.subject = t.old
	}
}

// behind returns how many bytes of the replication stream the old primary had written, by what it told last, and the new
// one lacked when it was promoted. 0: none, or the record does not tell.
func (t *takeover) behind(start time.Duration) int64 {
	offset := func(node string, from time.Duration) (n int64, ok bool) {
		e, ok := t.first(from, t.end-1, func(e harness.Event) bool { return e.Node == node && e.Kind == harness.EventOffset })
		if ok {
			n, _ = strconv.ParseInt(e.Detail, 10, 64) // 0 if it makes no sense
		}
		return n, ok
	}
	old, told := offset(t.old, start)
	now, promoted := offset(t.new, t.at-t.late)
	if !told || !promoted {
		return 0
	}
	return max(0, old-now)
}

// reigned reports whether the new primary was in office at some time of [from, to].
func (t *takeover) reigned(from, to time.Duration) bool {
	return to >= t.at-t.late && (t.until == harness.Forever || from <= t.until+t.late)
}
