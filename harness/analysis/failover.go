package analysis

import (
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Milestone names a stage of a failover.
type Milestone string

// The stages of a failover, in the order in which they are shown.
const (
	Injected Milestone = "fault"             // the first action of the nemesis that is the cause
	Suspect  Milestone = "+sdown"            // a Sentinel misses the primary
	Agreed   Milestone = "+odown"            // a quorum of Sentinels misses it
	Elected  Milestone = "+elected-leader"   // one Sentinel may perform the failover
	Accepted Milestone = "takes writes"      // the new primary took the first write of the harness's own, which tries every 10 ms
	Promoted Milestone = "+promoted-slave"   // a Sentinel has seen that the chosen replica is a primary
	Switched Milestone = "+switch-master"    // the first Sentinel announces the new primary
	Writable Milestone = "first write"       // Return of the first write that the new primary acknowledged to a client
	Rejoined Milestone = "old primary joins" // the old primary is a replica of the new one
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
	Note  string        `json:"note,omitempty"` // if it was not seen: what is missing, or why nobody knows
}

// Outage is the longest time around a failover in which clients asked and none of them got what it asked for. Clients
// on the minority side of a partition are left out. It counts from the first request that got nothing to the first that
// got something, and includes what the client library takes to notice and to dial again. Where clients ask rarely it
// may have been shorter or longer.
type Outage struct {
	Seen    bool          `json:"seen"`    // both ends were seen; otherwise the rest means nothing
	From    time.Duration `json:"from"`    // Call of the first request that got nothing, at least Return of the last that did
	To      time.Duration `json:"to"`      // Return of the first that got something again
	Least   time.Duration `json:"least"`   // it lasted at least so long; time in which nobody asked is left out
	Most    time.Duration `json:"most"`    // it lasted at most so long
	Failed  int64         `json:"failed"`  // requests under way between the two that failed, without refused acquires
	Unknown int64         `json:"unknown"` // requests under way between the two whose effect is unknown
}

// Length returns the time between From and To.
func (o Outage) Length() time.Duration { return o.To - o.From }

// tooCoarse is the distance between Least and Most from which on an outage is given as a range.
const tooCoarse = 50 * time.Millisecond

// IsRange reports whether clients asked too rarely to tell how long the outage lasted.
func (o Outage) IsRange() bool { return o.Most-o.Least > tooCoarse }

// String returns how long the outage lasted, such as "1.43 s", or "1.8 ms to 586 ms" where clients asked too rarely to
// tell.
func (o Outage) String() string {
	if !o.IsRange() {
		return units.Duration(o.Length())
	}
	return units.Duration(o.Least) + " to " + units.Duration(o.Most)
}

// Downtime is the longest time around a failover in which no node took a write of the harness's own, up to the first
// one of the new primary. The harness tries each node every 10 ms, past all links, and dials again at once. No client
// library takes part.
type Downtime struct {
	Seen   bool          `json:"seen"`             // the new primary was seen to take writes; otherwise the rest means nothing
	From   time.Duration `json:"from"`             // the last write that a node took
	To     time.Duration `json:"to"`               // the next write that a node took; equal to From if one always took writes
	Beside time.Duration `json:"beside,omitempty"` // for how long both the old and the new primary took writes
}

// Length returns how long the downtime lasted.
func (d Downtime) Length() time.Duration { return d.To - d.From }

// Failover describes how one node took the place of another as the primary: a takeover, with its operations. A run may
// have several, side by side or in a row; each has what happened until the next one's promotion.
type Failover struct {
	Fault  int      `json:"fault"`            // index in History.Faults of the cause, of several the first; -1: none fits
	Name   string   `json:"name"`             // of the cause; "one of A, B" where that cannot be told; "no known cause"
	OneOf  []int    `json:"oneOf,omitempty"`  // indexes in History.Faults, where it cannot be told which it was
	Beside []string `json:"beside,omitempty"` // names of other faults in force between the cause and the promotion

	Old      string        `json:"old,omitempty"`
	New      string        `json:"new,omitempty"`     // names of nodes; empty if not known
	Instead  string        `json:"instead,omitempty"` // the node whose place Sentinels meant to fill, if it was no primary
	Start    time.Duration `json:"start"`             // of the cause; without one, the first sign of the failover
	Promoted time.Duration `json:"promoted"`          // the first sign that New was a primary
	Until    time.Duration `json:"until,omitempty"`   // when New was seen as a replica again; 0: never
	Ceased   time.Duration `json:"ceased,omitempty"`  // when Old was no primary any more, whomever it followed then; 0: never
	Stages   []Stage       `json:"stages"`            // one for each milestone, in order
	Servers  Downtime      `json:"servers"`           // no node took writes
	Outage   Outage        `json:"outage"`            // no client that asked was answered
	Writes   Outage        `json:"writes"`            // no client could write
	Executed int64         `json:"executed"`          // acknowledged writes of clients that New executed
	Minority int64         `json:"minority"`          // acknowledged writes of clients that Old executed after Promoted
	Behind   int64         `json:"behind,omitempty"`  // so many bytes that Old had written New lacked when it was promoted, at least
	Losses   Losses        `json:"losses,omitempty"`  // what was found wrong

	later time.Duration // beyond seenWithin, how late the record may show the promotion
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

// String returns the failover on one line: the cause, who took over, the stages with their distances from the cause's
// start, and what it cost.
func (f Failover) String() string {
	words := []string{f.Cause() + f.Moved()}
	for _, s := range f.Stages {
		if s.Seen && s.Name != Injected {
			words = append(words, string(s.Name)+" "+units.After(s.After))
		}
	}
	for _, cost := range f.Costs() {
		words = append(words, cost.String())
	}
	return strings.Join(append(words, f.Remarks()...), "; ")
}

// Moved returns the old and the new primary, such as ", r1 to r2"; empty if they are not known.
func (f Failover) Moved() string {
	if f.Old == "" || f.New == "" {
		return ""
	}
	return ", " + f.Old + " to " + f.New
}

// Cause returns the cause in words, such as "pause-primary (beside client-kill-primary)".
func (f Failover) Cause() string {
	if len(f.Beside) == 0 {
		return f.Name
	}
	return f.Name + " (beside " + units.Clip(strings.Join(counted(f.Beside), ", "), 120) + ")"
}

// counted returns each of the names once, in order of their first, such as "30 client-kill" for 30 of a name.
func counted(names []string) (all []string) {
	n := map[string]int{}
	for _, name := range names {
		if n[name]++; n[name] == 1 {
			all = append(all, name)
		}
	}
	for i, name := range all {
		if n[name] > 1 {
			all[i] = fmt.Sprintf("%d %s", n[name], name)
		}
	}
	return all
}

// Remarks lists what is particular about the failover, each as a clause.
func (f Failover) Remarks() (all []string) {
	if f.Instead != "" {
		all = append(all, fmt.Sprintf("Sentinels took %s for the primary", f.Instead))
	}
	if s := f.Stage(Writable); !s.Seen && f.New != "" {
		all = append(all, s.Note)
	}
	if f.Minority > 0 {
		all = append(all, fmt.Sprintf("%s executed %s writes of clients after the promotion", f.Old, units.Count(f.Minority)))
	}
	if f.Behind > 0 {
		all = append(all, fmt.Sprintf("%s lacked at least %s bytes that %s had written", f.New, units.Count(f.Behind), f.Old))
	}
	return append(all, f.Losses.words()...)
}

// Failovers lists the failovers of a run in order of their promotions. It reads h.Ops once. An error in them ends the
// reading.
func Failovers(h harness.History) []Failover {
	w := newFailoverMeters(h)
	_ = eachOp(h, w.add) // of a history that cannot be read to its end the readable part counts
	return w.failovers()
}
