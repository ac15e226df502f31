package analysis

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// seenWithin is how late the record may show what a node did: roles are asked for every 20 ms, on a busy machine less
// often. Where they are asked for less often anyway, that time is added ([acts.late]).
const seenWithin = 50 * time.Millisecond

// acts holds what the nodes and Sentinels of a run did, from its events.
type acts struct {
	events    []harness.Event // in order of time
	at        map[string]string
	redis     map[string]bool           // nodes whose role was seen
	sentinels map[string]bool           // nodes that publish what Sentinels do
	reigns    map[string][]reign        // by node, in order of time
	spans     map[string][]writableSpan // by node: when it took writes
	silences  []harness.Event           // EventUnheard and EventHeard
	unread    []harness.Event           // EventUnread
	follows   bool                      // the record says whom replicas follow
	downAfter time.Duration             // for how long a node gives no answer before a Sentinel takes it for down; 0: not known
	last      time.Duration             // the latest event
	late      time.Duration             // how late the record may show what a node did
}

// reign is a stretch of time in which a node was a primary, by its own role.
type reign struct {
	from, to time.Duration // harness.Forever: the record does not show an end
	promoted bool          // the node was a replica before
}

func actsOf(events []harness.Event) *acts {
	a := &acts{
		events: inOrder(events), at: map[string]string{}, redis: map[string]bool{}, sentinels: map[string]bool{},
		reigns: map[string][]reign{}, late: seenWithin,
	}
	a.spans = spansOf(a.events)
	roles := map[string]string{} // by node, the last that it told
	for _, e := range a.events {
		a.last = max(a.last, e.At)
		if e.Kind == harness.EventUnheard || e.Kind == harness.EventHeard {
			a.silences = append(a.silences, e)
		}
		if e.Kind == harness.EventUnread {
			a.unread = append(a.unread, e)
		}
		switch e.Kind {
		case harness.EventAddress:
			a.at[e.Detail] = e.Node
		case harness.EventRole:
			a.redis[e.Node] = true
			a.tellsRole(e, roles)
		case harness.EventWritable:
			if roles[e.Node] == harness.RoleReplica {
				a.begins(e, true)
				roles[e.Node] = harness.RolePrimary
			}
		case harness.EventFollows:
			a.follows = true
		case harness.EventRolesEvery:
			every, _ := time.ParseDuration(e.Detail) // 0 if it makes no sense
			a.late = max(a.late, every+seenWithin)
		case harness.EventDownAfter:
			a.sentinels[e.Node] = true
			a.downAfter, _ = time.ParseDuration(e.Detail) // 0 if it makes no sense
		case string(Suspect), string(Agreed), attempted, string(Elected), string(Promoted), string(Switched),
			harness.EventUnheard:
			a.sentinels[e.Node] = true
		}
	}
	return a
}

// inOrder returns the events in order of time.
func inOrder(events []harness.Event) []harness.Event {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b harness.Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

// tellsRole notes that a node told its role. A node that is down keeps the last one: a former primary that comes back
// as one is not promoted.
func (a *acts) tellsRole(e harness.Event, roles map[string]string) {
	was := roles[e.Node]
	switch {
	case e.Detail == harness.RoleDown || e.Detail == was:
		return
	case e.Detail == harness.RolePrimary:
		a.begins(e, was == harness.RoleReplica)
	case was == harness.RolePrimary:
		all := a.reigns[e.Node]
		all[len(all)-1].to = e.At
	}
	roles[e.Node] = e.Detail
}

func (a *acts) begins(e harness.Event, promoted bool) {
	a.reigns[e.Node] = append(a.reigns[e.Node], reign{from: e.At, to: harness.Forever, promoted: promoted})
}

// couldGrant reports whether the node may have been a primary at some time of [from, to]. Of a node without a known
// role nobody knows, so it may have been.
func (a *acts) couldGrant(node string, from, to time.Duration) bool {
	if !a.redis[node] {
		return true
	}
	return slices.ContainsFunc(a.reigns[node], func(r reign) bool {
		return r.from-a.late <= to && (r.to == harness.Forever || from <= r.to+a.late)
	})
}

// primaryBefore returns the node that was a primary when another, promoted, took over at t. Of several it is preferred,
// if that is one of them, or else the one that became a primary last.
func (a *acts) primaryBefore(t time.Duration, promoted, preferred string) string {
	node, since := "", time.Duration(-1)
	for _, name := range slices.Sorted(maps.Keys(a.reigns)) {
		for _, r := range a.reigns[name] {
			switch {
			case name == promoted || r.from >= t || r.to < t-a.late:
			case name == preferred:
				return name
			case r.from > since:
				node, since = name, r.from
			}
		}
	}
	return cmp.Or(node, preferred)
}

// lostWords lists the Sentinels that ceased to be heard in [from, to] and may have said more than the record has, in order of
// their names.
func (a *acts) lostWords(from, to time.Duration) (all []string) {
	for _, e := range a.unread {
		if from <= e.At && e.At <= to {
			all = append(all, e.Node)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// first returns the first event of [from, to] for which wanted is true.
func (a *acts) first(from, to time.Duration, wanted func(harness.Event) bool) (harness.Event, bool) {
	for _, e := range a.since(from) {
		if e.At > to {
			break
		}
		if wanted(e) {
			return e, true
		}
	}
	return harness.Event{}, false
}

// since returns the events from a time on.
func (a *acts) since(from time.Duration) []harness.Event {
	return a.events[sort.Search(len(a.events), func(i int) bool { return a.events[i].At >= from }):]
}

// unheard lists the Sentinels that were not heard for some of [from, to], in order of their names.
func (a *acts) unheard(from, to time.Duration) (all []string) {
	for _, s := range slices.Sorted(maps.Keys(a.sentinels)) {
		since := harness.Forever // it is heard
		for _, e := range a.silences {
			if e.Node != s || e.At > to {
				continue
			}
			switch e.Kind {
			case harness.EventUnheard:
				since = min(since, e.At)
			case harness.EventHeard:
				if since != harness.Forever && e.At >= from {
					all = append(all, s)
				}
				since = harness.Forever
			}
		}
		if since != harness.Forever {
			all = append(all, s)
		}
	}
	return slices.Compact(all)
}

func isRole(e harness.Event, role string) bool {
	return e.Kind == harness.EventRole && e.Detail == role
}
