package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Milestone names a stage of a failover.
type Milestone string

// The stages of a failover, in the order in which they are shown.
const (
	Injected Milestone = "fault"             // the first action of the nemesis
	Suspect  Milestone = "+sdown"            // a Sentinel misses the primary
	Agreed   Milestone = "+odown"            // a quorum of Sentinels misses it
	Elected  Milestone = "+elected-leader"   // one Sentinel may perform the failover
	Accepted Milestone = "takes writes"      // the new primary took the first write of the harness's own, which tries every 10 ms
	Promoted Milestone = "+promoted-slave"   // a Sentinel has seen that the chosen replica is a primary
	Switched Milestone = "+switch-master"    // the first Sentinel announces the new primary
	Writable Milestone = "first write"       // Return of the first write that the new primary acknowledged to a client
	Rejoined Milestone = "old primary joins" // the old primary follows the new one
)

// Milestones lists the stages of a failover, in the order in which they are shown.
func Milestones() []Milestone {
	return []Milestone{Injected, Suspect, Agreed, Elected, Accepted, Promoted, Switched, Writable, Rejoined}
}

// Stage is one milestone of one failover.
type Stage struct {
	Name  Milestone     `json:"name"`
	Seen  bool          `json:"seen"`           // false: the history does not show it, and At and After mean nothing
	At    time.Duration `json:"at"`             // on the run's clock
	After time.Duration `json:"after"`          // since the start of the fault
	By    string        `json:"by,omitempty"`   // the Sentinel, node or client that shows it
	Note  string        `json:"note,omitempty"` // if it was not seen: what is missing
}

// Outage is the longest time around a failover in which clients waited for an answer and none had one. Clients on the minority
// side of a partition are left out. An answer is an operation that is ok, or a lock's refusal ("held"). The time includes what
// the client library takes to notice and to dial again.
type Outage struct {
	Seen    bool          `json:"seen"`    // both ends were seen; otherwise the rest means nothing
	From    time.Duration `json:"from"`    // Return of the last answer before
	To      time.Duration `json:"to"`      // Return of the first answer after
	Failed  int64         `json:"failed"`  // operations under way between the two that failed, without refused acquires
	Unknown int64         `json:"unknown"` // operations under way between the two whose effect is unknown
}

// Length returns how long the outage lasted.
func (o Outage) Length() time.Duration { return o.To - o.From }

// Downtime is the longest time around a failover in which neither the old nor the new primary took a write of the harness's own.
// The harness tries each node every 10 ms, past all links, and dials again at once. No client library takes part.
type Downtime struct {
	Seen   bool          `json:"seen"`             // the new primary was seen to take writes; otherwise the rest means nothing
	From   time.Duration `json:"from"`             // the last write that the old primary took
	To     time.Duration `json:"to"`               // the next write that either took; equal to From if one of them always took writes
	Beside time.Duration `json:"beside,omitempty"` // for how long both took writes
}

// Length returns how long the downtime lasted.
func (d Downtime) Length() time.Duration { return d.To - d.From }

// Failover describes what followed a fault after which Sentinels announced a new primary.
type Failover struct {
	Fault    int           `json:"fault"` // index in History.Faults
	Name     string        `json:"name"`  // of the fault
	Old      string        `json:"old,omitempty"`
	New      string        `json:"new,omitempty"` // names of nodes; empty if not known
	Start    time.Duration `json:"start"`
	Stages   []Stage       `json:"stages"` // one for each milestone, in order
	Servers  Downtime      `json:"servers"`
	Outage   Outage        `json:"outage"`   // of clients
	Again    int           `json:"again"`    // further failovers that the fault led to
	Minority int64         `json:"minority"` // ok writes of the minority side, called after the promotion and back before the heal
}

// Stage returns one stage of the failover.
func (f Failover) Stage(name Milestone) Stage {
	for _, s := range f.Stages {
		if s.Name == name {
			return s
		}
	}
	return Stage{Name: name}
}

// String returns the failover on one line: who took over, the stages with their distances from the fault, and what it cost.
func (f Failover) String() string {
	words := []string{f.Name + f.Moved()}
	for _, s := range f.Stages {
		if s.Seen && s.Name != Injected {
			words = append(words, string(s.Name)+" "+units.After(s.After))
		}
	}
	for _, cost := range f.Costs() {
		words = append(words, cost.String())
	}
	return strings.Join(words, "; ")
}

// Moved returns the old and the new primary, such as ", r1 to r2"; empty if they are not known.
func (f Failover) Moved() string {
	if f.Old == "" || f.New == "" {
		return ""
	}
	return ", " + f.Old + " to " + f.New
}

// Failovers finds the faults that led to a switch of the primary, and times the stages. Of faults that overlap, a switch belongs
// to the earliest that struck the old primary and was in force or healing. Failovers reads h.Ops once. An error in them ends the
// reading.
func Failovers(h harness.History) []Failover {
	w := newFailoverMeters(h)
	_ = eachOp(h, w.add) // of a history that cannot be read to its end the readable part counts
	return w.failovers()
}

// aftermath is a fault that led to a failover, with the events from its start until another fault took over.
type aftermath struct {
	harness.Fault
	index    int
	from     time.Duration // the Start, or when an earlier failover was over
	until    time.Duration // when the next fault took over
	last     bool          // there is no next fault
	events   []harness.Event
	changes  []change // the switches that the fault led to, at least one
	old, new string
	switched harness.Event
}

// aftermaths lists the faults that led to a failover, in order of their Start.
func aftermaths(h harness.History) []aftermath {
	events := inOrder(h.Events)
	causes, led := newCauses(h.Faults, events), map[int][]change{}
	for _, c := range changesOf(events) {
		if i, ok := causes.faultBehind(c); ok {
			led[i] = append(led[i], c)
		}
	}
	var all []aftermath
	for _, i := range causes.order {
		if len(led[i]) > 0 {
			a := aftermath{Fault: h.Faults[i], index: i, changes: led[i]}
			a.findEnd(h.Faults, led)
			a.fill(events)
			all = append(all, a)
		}
	}
	return all
}

// inOrder returns the events in order of time.
func inOrder(events []harness.Event) []harness.Event {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b harness.Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

// findEnd finds the end of the aftermath: the start of a later fault that began when this one was over, or that led to a failover
// of its own after the first of this one.
func (a *aftermath) findEnd(faults []harness.Fault, led map[int][]change) {
	first := a.changes[0]
	a.switched, a.from, a.last = first.said[0], max(a.Start, first.after+1), true
	for i, next := range faults {
		takesOver := i != a.index && next.Start > first.first && (next.Start >= directUntil(a.Fault) || len(led[i]) > 0)
		if takesOver && (a.last || next.Start < a.until) {
			a.until, a.last = next.Start, false
		}
	}
}

// covers reports whether t lies in the aftermath.
func (a *aftermath) covers(t time.Duration) bool { return t >= a.from && (a.last || t < a.until) }

// fill finds the events of the aftermath and the nodes that change roles.
func (a *aftermath) fill(all []harness.Event) {
	for _, e := range all {
		if a.covers(e.At) {
			a.events = append(a.events, e)
		}
	}
	a.old, a.new = a.changes[0].old, a.changes[0].new
	target := func(e harness.Event) bool {
		return e.Kind == harness.EventRole && len(a.Targets) > 0 && e.Node == a.Targets[0]
	}
	if a.old == "" && slices.ContainsFunc(all, target) {
		a.old = a.Targets[0]
	}
}

func isRole(e harness.Event, role string) bool {
	return e.Kind == harness.EventRole && e.Detail == role
}

// first returns the first event of the aftermath for which wanted is true.
func (a *aftermath) first(wanted func(harness.Event) bool) (harness.Event, bool) {
	for _, e := range a.events {
		if wanted(e) {
			return e, true
		}
	}
	return harness.Event{}, false
}

// promotion returns the time of the earliest sign that the new primary took over.
func (a *aftermath) promotion() time.Duration {
	e, _ := a.first(func(e harness.Event) bool {
		return e.Kind == string(Switched) || e.Kind == string(Promoted) ||
			a.new != "" && e.Node == a.new && (isRole(e, harness.RolePrimary) || e.Kind == harness.EventWritable)
	})
	return e.At
}

// repeatedFailovers counts the failovers after the first: how often the most talkative Sentinel announced one.
func (a *aftermath) repeatedFailovers() int {
	said := map[string]int{}
	most := 0
	for _, c := range a.changes {
		for _, e := range c.said {
			said[e.Node]++
			most = max(most, said[e.Node])
		}
	}
	return most - 1
}

// stages returns a stage for each milestone. The watcher of the operations fills in Writable.
func (a *aftermath) stages() []Stage {
	var all []Stage
	for _, name := range Milestones() {
		all = append(all, a.stage(name))
	}
	return all
}

func (a *aftermath) stage(name Milestone) Stage {
	switch name {
	case Injected:
		return a.seen(name, a.Start, strings.Join(a.Targets, " "))
	case Accepted:
		return a.firstOwnWrite()
	case Writable:
		return Stage{Name: name, Note: a.noteNoWrites()}
	case Rejoined:
		return a.rejoined()
	}
	e, ok := a.first(func(e harness.Event) bool {
		return e.Kind == string(name) && e.At <= a.switched.At && (name != Suspect || ofPrimary(e))
	})
	if !ok {
		return Stage{Name: name, Note: "no Sentinel said " + string(name)}
	}
	return a.seen(name, e.At, e.Node)
}

// ofPrimary reports whether a +sdown is about the primary, and not about a replica or a Sentinel.
func ofPrimary(e harness.Event) bool { return e.Detail == "" || strings.HasPrefix(e.Detail, "master ") }

// firstOwnWrite returns the stage in which the new primary took the first write of the harness's own.
func (a *aftermath) firstOwnWrite() Stage {
	e, ok := a.first(func(e harness.Event) bool {
		return a.new != "" && e.Node == a.new && e.Kind == harness.EventWritable && e.At < a.changes[0].until
	})
	switch {
	case ok:
		return a.seen(Accepted, e.At, e.Node)
	case a.new == "":
		return Stage{Name: Accepted, Note: "which node became the primary is not known"}
	}
	return Stage{Name: Accepted, Note: a.new + " was not seen to take a write"}
}

// noteNoWrites returns the note that the new primary acknowledged no write of a client.
func (a *aftermath) noteNoWrites() string {
	if a.new == "" {
		return "no write was acknowledged afterwards"
	}
	return a.new + " acknowledged no write of a client"
}

func (a *aftermath) rejoined() Stage {
	if a.old == "" {
		return Stage{Name: Rejoined, Note: "which node was the primary is not known"}
	}
	e, ok := a.first(func(e harness.Event) bool {
		return e.At >= a.switched.At && e.Node == a.old && isRole(e, harness.RoleReplica)
	})
	if !ok {
		return Stage{Name: Rejoined, Note: a.old + " was not seen as a replica"}
	}
	return a.seen(Rejoined, e.At, e.Node)
}

func (a *aftermath) seen(name Milestone, t time.Duration, by string) Stage {
	return Stage{Name: name, Seen: true, At: t, After: t - a.Start, By: by}
}
