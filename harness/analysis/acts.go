package analysis

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// maxRoleDelay bounds how late the record shows that a node's role has changed. The harness asks each node for its role
// every 20 ms, or less often on a busy machine.
const maxRoleDelay = 50 * time.Millisecond

// acts holds what the nodes and Sentinels of a run did, as its events show it.
type acts struct {
	events    []harness.Event           // ordered by time
	byAddress map[string]string         // names of nodes, by address
	redis     map[string]bool           // nodes whose role is in the record
	sentinels map[string]bool           // nodes that sent a Sentinel's messages
	reigns    map[string][]reign        // periods as a primary, by node; those of a node are ordered by time
	spans     map[string][]writableSpan // periods in which the node accepted writes, by node
	silences  []harness.Event           // the events EventSubscriptionLost and EventSubscriptionBack
	unread    []harness.Event           // the events EventMessagesMissed
	follows   bool                      // the record says which node each replica follows
	downAfter time.Duration             // the Sentinels' down-after-milliseconds; 0: not known
	lastEvent time.Duration             // time of the latest event
	roleDelay time.Duration             // upper bound of the delay between a role change and its record
}

// reign is a period in which a node called itself a primary.
type reign struct {
	from, to time.Duration // beginning and end; the end is harness.Forever if the record shows none
	promoted bool          // the node was a replica just before
}

func actsOf(events []harness.Event) *acts {
	a := &acts{
		events: inOrder(events), byAddress: map[string]string{}, redis: map[string]bool{}, sentinels: map[string]bool{},
		reigns: map[string][]reign{}, roleDelay: maxRoleDelay,
	}
	a.spans = spansOf(a.events)
	roles := map[string]string{} // latest role, by node
	for _, e := range a.events {
		a.lastEvent = max(a.lastEvent, e.At)
		switch e.Kind {
		case harness.EventSubscriptionLost:
			a.sentinels[e.Node] = true
			a.silences = append(a.silences, e)
		case harness.EventSubscriptionBack:
			a.silences = append(a.silences, e)
		case harness.EventMessagesMissed:
			a.unread = append(a.unread, e)
		case harness.EventAddress:
			a.byAddress[e.Detail] = e.Node
		case harness.EventRole:
			a.redis[e.Node] = true
			a.noteRole(e, roles)
		case harness.EventWritable:
			if roles[e.Node] == harness.RoleReplica {
				a.startReign(e, true)
				roles[e.Node] = harness.RolePrimary
			}
		case harness.EventFollows:
			a.follows = true
		case harness.EventRolesEvery:
			every, _ := time.ParseDuration(e.Detail) // 0 if it is not a duration
			a.roleDelay = max(a.roleDelay, every+maxRoleDelay)
		case harness.EventDownAfter:
			a.sentinels[e.Node] = true
			a.downAfter, _ = time.ParseDuration(e.Detail) // 0 if it is not a duration
		case string(Suspect), string(Agreed), attempted, string(Elected), string(Promoted), string(Switched):
			a.sentinels[e.Node] = true
		}
	}
	return a
}

// inOrder returns the events, ordered by time.
func inOrder(events []harness.Event) []harness.Event {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b harness.Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

// noteRole records a node's role. A node that is down keeps its last role, so a former primary that comes back as a
// primary does not count as promoted.
func (a *acts) noteRole(e harness.Event, roles map[string]string) {
	was := roles[e.Node]
	switch {
	case e.Detail == harness.RoleDown || e.Detail == was:
		return
	case e.Detail == harness.RolePrimary:
		a.startReign(e, was == harness.RoleReplica)
	case was == harness.RolePrimary:
		all := a.reigns[e.Node]
		all[len(all)-1].to = e.At
	}
	roles[e.Node] = e.Detail
}

func (a *acts) startReign(e harness.Event, promoted bool) {
	a.reigns[e.Node] = append(a.reigns[e.Node], reign{from: e.At, to: harness.Forever, promoted: promoted})
}

// couldGrant reports whether the node may have been a primary at some time in [from, to]. It returns true for a node
// without any recorded role.
func (a *acts) couldGrant(node string, from, to time.Duration) bool {
	if !a.redis[node] {
		return true
	}
	return slices.ContainsFunc(a.reigns[node], func(r reign) bool {
		return r.from-a.roleDelay <= to && (r.to == harness.Forever || from <= r.to+a.roleDelay)
	})
}

// primaryBefore returns the old primary: the node that was a primary at the time t, before another node was promoted.
// The parameter promoted names that other node. If several nodes were primaries, primaryBefore returns the preferred
// one if that is among them, or else the one that became a primary last. If none was, it returns the preferred one.
func (a *acts) primaryBefore(t time.Duration, promoted, preferred string) string {
	node, since := "", time.Duration(-1)
	for _, name := range slices.Sorted(maps.Keys(a.reigns)) {
		for _, r := range a.reigns[name] {
			switch {
			case name == promoted || r.from >= t || r.to < t-a.roleDelay:
			case name == preferred:
				return name
			case r.from > since:
				node, since = name, r.from
			}
		}
	}
	return cmp.Or(node, preferred)
}

// withLostLogs lists the Sentinels whose log messages the harness may have missed in [from, to], sorted by name.
func (a *acts) withLostLogs(from, to time.Duration) (names []string) {
	for _, e := range a.unread {
		if from <= e.At && e.At <= to {
			names = append(names, e.Node)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// firstEvent returns the first event in [from, to] that the given function accepts.
func (a *acts) firstEvent(from, to time.Duration, wanted func(harness.Event) bool) (harness.Event, bool) {
	for _, e := range a.eventsSince(from) {
		if e.At > to {
			break
		}
		if wanted(e) {
			return e, true
		}
	}
	return harness.Event{}, false
}

func (a *acts) eventsSince(from time.Duration) []harness.Event {
	return a.events[sort.Search(len(a.events), func(i int) bool { return a.events[i].At >= from }):]
}

// unheard lists the Sentinels, sorted by name, whose messages the harness could not receive at some time in [from, to].
func (a *acts) unheard(from, to time.Duration) (all []string) {
	for _, s := range slices.Sorted(maps.Keys(a.sentinels)) {
		silentSince := harness.Forever // Forever: it can be heard
		for _, e := range a.silences {
			if e.Node != s || e.At > to {
				continue
			}
			switch e.Kind {
			case harness.EventSubscriptionLost:
				silentSince = min(silentSince, e.At)
			case harness.EventSubscriptionBack:
				if silentSince != harness.Forever && e.At >= from {
					all = append(all, s)
				}
				silentSince = harness.Forever
			}
		}
		if silentSince != harness.Forever {
			all = append(all, s)
		}
	}
	return slices.Compact(all)
}

func isRole(e harness.Event, role string) bool {
	return e.Kind == harness.EventRole && e.Detail == role
}
