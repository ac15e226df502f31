package reports

import (
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Milestone names a stage of a failover.
type Milestone string

// The stages of a failover, in the order in which they are shown.
const (
	Injected Milestone = "fault"             // the first action of the nemesis
	Suspect  Milestone = "+sdown"            // a Sentinel misses the primary
	Agreed   Milestone = "+odown"            // a quorum of Sentinels does
	Elected  Milestone = "+elected-leader"   // one Sentinel may perform the failover
	Promoted Milestone = "+promoted-slave"   // the chosen replica says that it is a primary
	Switched Milestone = "+switch-master"    // the first Sentinel announces the new primary
	Writable Milestone = "first write"       // the first write that the new primary acknowledged returned
	Rejoined Milestone = "old primary joins" // the old primary follows the new one
)

func milestones() []Milestone {
	return []Milestone{Injected, Suspect, Agreed, Elected, Promoted, Switched, Writable, Rejoined}
}

// Stage is one milestone of one failover.
type Stage struct {
	Name  Milestone     `json:"name"`
	Seen  bool          `json:"seen"`           // false: the history does not show it, and At and After say nothing
	At    time.Duration `json:"at"`             // on the run's clock
	After time.Duration `json:"after"`          // since the start of the fault
	By    string        `json:"by,omitempty"`   // who said it, or which client
	Note  string        `json:"note,omitempty"` // when it was not seen: what is missing
}

// Outage is the time without acknowledged writes around a failover, as the clients saw it that were not on the
// minority side of a partition.
type Outage struct {
	Seen    bool          `json:"seen"`    // both ends were seen
	From    time.Duration `json:"from"`    // Return of the last ok write before
	To      time.Duration `json:"to"`      // Return of the first ok write after
	Failed  int64         `json:"failed"`  // operations under way between the two that failed; refused acquires are none
	Unknown int64         `json:"unknown"` // operations under way between the two whose effect is unknown
}

// Length is how long the outage lasted.
func (o Outage) Length() time.Duration { return o.To - o.From }

// Failover is what followed a fault after which Sentinels announced a new primary.
type Failover struct {
	Fault    int           `json:"fault"` // index in History.Faults
	Name     string        `json:"name"`  // of the fault
	Old      string        `json:"old,omitempty"`
	New      string        `json:"new,omitempty"` // nodes, when their roles are known
	Start    time.Duration `json:"start"`
	Stages   []Stage       `json:"stages"` // one for each milestone, in order
	Outage   Outage        `json:"outage"`
	Again    int           `json:"again"`    // further failovers before the next fault
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

// String is the failover on one line: who took over, the stages with their distances from the fault, and what it cost.
func (f Failover) String() string {
	words := []string{f.Name}
	if f.Old != "" && f.New != "" {
		words[0] += ", " + f.Old + " to " + f.New
	}
	for _, s := range f.Stages {
		if s.Seen && s.Name != Injected {
			words = append(words, string(s.Name)+" "+after(s.After))
		}
	}
	if f.Outage.Seen {
		words = append(words, "no write for "+dur(f.Outage.Length()))
	}
	return strings.Join(words, "; ")
}

// Failovers finds the faults in whose aftermath, up to the next fault, the primary was switched, and times the stages.
// It reads h.Ops once; an error in them ends the reading.
func Failovers(h harness.History) []Failover {
	w := newWatchers(h)
	_ = eachOp(h, w.add) // Failovers of a history that cannot be read to its end are those of its readable part
	return w.failovers()
}

// aftermath is a fault with what the system said from its start to the start of the next.
type aftermath struct {
	harness.Fault
	index    int
	until    time.Duration // start of the next fault
	last     bool          // there is no next fault
	events   []harness.Event
	old, new string
	switched harness.Event
}

// aftermaths lists the faults that led to a failover.
func aftermaths(h harness.History) []aftermath {
	events := slices.Clone(h.Events)
	slices.SortStableFunc(events, func(a, b harness.Event) int { return int(a.At - b.At) })
	var all []aftermath
	for i, f := range h.Faults {
		a := aftermath{Fault: f, index: i, last: true}
		for _, next := range h.Faults {
			if next.Start > f.Start && (a.last || next.Start < a.until) {
				a.until, a.last = next.Start, false
			}
		}
		if a.fill(events) {
			all = append(all, a)
		}
	}
	slices.SortStableFunc(all, func(a, b aftermath) int { return int(a.Start - b.Start) })
	return all
}

// covers reports whether t lies in the aftermath.
func (a *aftermath) covers(t time.Duration) bool { return t >= a.Start && (a.last || t < a.until) }

// fill finds the events of the aftermath and the nodes that change roles; false: there was no failover.
func (a *aftermath) fill(all []harness.Event) bool {
	for _, e := range all {
		if a.covers(e.At) {
			a.events = append(a.events, e)
		}
	}
	var ok bool
	if a.switched, ok = a.first(func(e harness.Event) bool { return e.Kind == string(Switched) }); !ok {
		return false
	}
	a.old = a.oldPrimary(all)
	e, _ := a.first(func(e harness.Event) bool { return isRole(e, "master") && e.Node != a.old })
	a.new = e.Node
	return true
}

// oldPrimary is the fault's first target when its role is known, or else the node that was primary when it struck.
func (a *aftermath) oldPrimary(all []harness.Event) string {
	primary := ""
	for _, e := range all {
		if e.Kind == "role" && len(a.Targets) > 0 && e.Node == a.Targets[0] {
			return e.Node
		}
		if isRole(e, "master") && e.At <= a.Start {
			primary = e.Node
		}
	}
	return primary
}

func isRole(e harness.Event, role string) bool { return e.Kind == "role" && e.Detail == role }

// first returns the first event of the aftermath that is wanted.
func (a *aftermath) first(wanted func(harness.Event) bool) (harness.Event, bool) {
	for _, e := range a.events {
		if wanted(e) {
			return e, true
		}
	}
	return harness.Event{}, false
}

// promotion is the earliest sign that the new primary took over.
func (a *aftermath) promotion() time.Duration {
	e, _ := a.first(func(e harness.Event) bool {
		return e.Kind == string(Switched) || e.Kind == string(Promoted) ||
			(a.old != "" && isRole(e, "master") && e.Node != a.old)
	})
	return e.At
}

// killed reports whether the fault ended the old primary's process, so that it cannot have answered any more.
func (a *aftermath) killed() bool { return strings.Contains(strings.ToLower(a.Name), "kill") }

// again counts the failovers after the first: how often the most talkative Sentinel announced one.
func (a *aftermath) again() int {
	said := map[string]int{}
	most := 0
	for _, e := range a.events {
		if e.Kind == string(Switched) {
			said[e.Node]++
			most = max(most, said[e.Node])
		}
	}
	return most - 1
}

// stages lists every milestone; Writable is left to the watcher of the operations.
func (a *aftermath) stages() []Stage {
	var all []Stage
	for _, name := range milestones() {
		all = append(all, a.stage(name))
	}
	return all
}

func (a *aftermath) stage(name Milestone) Stage {
	switch name {
	case Injected:
		return a.seen(name, a.Start, strings.Join(a.Targets, " "))
	case Writable:
		return Stage{Name: name, Note: "no write was acknowledged afterwards"}
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

// ofPrimary tells a +sdown of the primary from one of a replica or a Sentinel.
func ofPrimary(e harness.Event) bool { return e.Detail == "" || strings.HasPrefix(e.Detail, "master ") }

func (a *aftermath) rejoined() Stage {
	if a.old == "" {
		return Stage{Name: Rejoined, Note: "which node was the primary is not known"}
	}
	e, ok := a.first(func(e harness.Event) bool {
		return e.At >= a.switched.At && e.Node == a.old && isRole(e, "slave")
	})
	if !ok {
		return Stage{Name: Rejoined, Note: a.old + " was not seen as a replica"}
	}
	return a.seen(Rejoined, e.At, e.Node)
}

func (a *aftermath) seen(name Milestone, t time.Duration, by string) Stage {
	return Stage{Name: name, Seen: true, At: t, After: t - a.Start, By: by}
}
