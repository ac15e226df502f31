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
	Injected Milestone = "fault"             // start of the fault that is the cause
	Suspect  Milestone = "+sdown"            // a Sentinel misses the primary
	Agreed   Milestone = "+odown"            // a quorum of Sentinels misses the primary
	Elected  Milestone = "+elected-leader"   // one Sentinel may perform the failover
	Accepted Milestone = "takes writes"      // the new primary accepts a write of the harness, tried every 10 ms
	Promoted Milestone = "+promoted-slave"   // a Sentinel sees that the chosen replica is a primary
	Switched Milestone = "+switch-master"    // the first Sentinel announces the new primary
	Writable Milestone = "first write"       // Return of the first client write that the new primary acknowledged
	Rejoined Milestone = "old primary joins" // the old primary is a replica of the new one
)

// Milestones lists the stages of a failover, in the order in which they are shown.
func Milestones() []Milestone {
	return []Milestone{Injected, Suspect, Agreed, Elected, Accepted, Promoted, Switched, Writable, Rejoined}
}

// Plain returns what a Sentinel's word for the milestone means, such as "a quorum misses it" for "+odown". It is empty
// for a milestone whose name is plain.
func (m Milestone) Plain() string {
	return map[Milestone]string{Suspect: "a Sentinel misses it", Agreed: "a quorum misses it", Elected: "leader is chosen",
		Promoted: "replica is promoted", Switched: "new one announced"}[m]
}

// Stage is one milestone of one failover.
type Stage struct {
	Name   Milestone     `json:"name"`
	Seen   bool          `json:"seen"`           // false: not in the history; At and After mean nothing
	At     time.Duration `json:"at"`             // on the run's clock
	After  time.Duration `json:"after"`          // time since the start of the fault
	SeenBy string        `json:"by,omitempty"`   // the Sentinel, node or client that shows it
	Note   string        `json:"note,omitempty"` // if Seen is false: what is missing, or why it is not known
}

// Outage is the longest time around a failover in which clients sent requests and none succeeded. A refused acquire is
// a success, unless the node that refused it cannot have been a primary. Clients on the minority side of a partition do
// not count. Outage lasts from the first request that failed to the first that succeeded. This includes the time that
// the client library takes to notice and to reconnect. If clients ask rarely, only bounds of the length are known:
// Least and Most.
type Outage struct {
	Seen    bool          `json:"seen"`    // both ends were seen; if false, the other fields mean nothing
	From    time.Duration `json:"from"`    // Call of the first failed request or, if later, Return of the last success
	To      time.Duration `json:"to"`      // Return of the next successful request
	Least   time.Duration `json:"least"`   // lower bound of the length: counts only time with requests
	Most    time.Duration `json:"most"`    // upper bound of the length
	Failed  int64         `json:"failed"`  // failed requests in that time, without refused acquires
	Unknown int64         `json:"unknown"` // requests in that time that may or may not have had an effect
}

// Length returns the time between From and To.
func (o Outage) Length() time.Duration { return o.To - o.From }

// tooCoarse is the difference between Least and Most above which an outage is shown as a range.
const tooCoarse = 50 * time.Millisecond

// IsRange reports whether clients asked too rarely to measure the outage.
func (o Outage) IsRange() bool { return o.Most-o.Least > tooCoarse }

// String returns the length of the outage, such as "1.43 s", or a range such as "1.8 ms to 586 ms" if clients asked too
// rarely.
func (o Outage) String() string {
	if !o.IsRange() {
		return units.Duration(o.Length())
	}
	return units.Duration(o.Least) + " to " + units.Duration(o.Most)
}

// Downtime is the longest time around a failover, up to the first write of the new primary, in which no node accepted a
// write. The harness measures it with its own writes to each node: one every 10 ms, without a client library, past all
// links, and with an immediate reconnect.
type Downtime struct {
	// the new primary accepted a write; if false, the other fields mean nothing
	Seen         bool          `json:"seen"`
	From         time.Duration `json:"from"`             // time of the last write that a node accepted
	To           time.Duration `json:"to"`               // time of the next accepted write; From if there was no gap
	BothWritable time.Duration `json:"beside,omitempty"` // how long the old and the new primary both accepted writes
}

// Length returns how long the downtime lasted.
func (d Downtime) Length() time.Duration { return d.To - d.From }

// Failover describes how one node replaced another as the primary, and what that cost clients. A run may have several,
// also at the same time. The figures of each end with the promotion of the next.
type Failover struct {
	// index of the cause in History.Faults; with several candidates, the index of the first; -1: no fault
	Fault int `json:"fault"`
	// name of the cause; "one of A, B" if there are several candidates; "no fault caused it"
	Name string `json:"name"`
	// indexes of the candidates for the cause in History.Faults, if there are several
	Candidates  []int    `json:"oneOf,omitempty"`
	OtherFaults []string `json:"beside,omitempty"` // names of other faults in force from the cause to the promotion

	Old string `json:"old,omitempty"` // the old primary; empty: not known
	New string `json:"new,omitempty"` // the new primary; empty: not known
	// the node that Sentinels wrongly took for the primary; empty: they were not wrong
	Mistaken string `json:"instead,omitempty"`
	// start of the cause; without a cause, the first sign of the failover
	Start          time.Duration `json:"start"`
	Promoted       time.Duration `json:"promoted"`         // first sign that New was a primary
	NewUntil       time.Duration `json:"until,omitempty"`  // when New became a replica again; 0: never
	OldUntil       time.Duration `json:"ceased,omitempty"` // when Old stopped being a primary; 0: never
	Stages         []Stage       `json:"stages"`           // one entry for each milestone, in order
	Servers        Downtime      `json:"servers"`          // time in which no node accepted writes
	Outage         Outage        `json:"outage"`           // time in which no client was answered
	Writes         Outage        `json:"writes"`           // time in which no client could write
	ExecutedWrites int64         `json:"executed"`         // acknowledged client writes that New executed
	MinorityWrites int64         `json:"minority"`         // acknowledged client writes that Old executed after Promoted
	// least number of bytes of Old's replication stream that New lacked at Promoted
	MissingBytes int64 `json:"behind,omitempty"`
	// violations that this failover caused, as AssignLosses counts them
	Losses Losses `json:"losses,omitempty"`

	// The shortest time that Sentinels can have had no answer from Old, before a failover that no fault caused; 0: not
	// known.
	Silent time.Duration `json:"silent,omitempty"`
	// Load of the machine during that silence, such as "12.3 on 2 cores"; empty: not known.
	Load string `json:"load,omitempty"`

	extraDelay time.Duration // how much later than maxRoleDelay the promotion may have been recorded
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

// String describes the failover in one line: the cause, the old and the new primary, the stages with their times since
// the start of the cause, and the costs.
func (f Failover) String() string {
	words := []string{f.Cause() + f.FromTo()}
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

// FromTo returns the old and the new primary, such as ", r1 to r2", or "" if either is not known.
func (f Failover) FromTo() string {
	if f.Old == "" || f.New == "" {
		return ""
	}
	return ", " + f.Old + " to " + f.New
}

// Cause returns the cause in words, such as "pause-primary (beside client-kill-primary)".
func (f Failover) Cause() string {
	if len(f.OtherFaults) == 0 {
		return f.Name
	}
	return f.Name + " (beside " + units.Clip(strings.Join(counted(f.OtherFaults), ", "), 120) + ")"
}

// counted returns each name once, in order of first appearance. If a name appears several times, the number of times
// precedes it: "30 client-kill".
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

// Remarks lists what is unusual about the failover, each item as a clause.
func (f Failover) Remarks() (all []string) {
	if f.Mistaken != "" {
		all = append(all, fmt.Sprintf("Sentinels took %s for the primary", f.Mistaken))
	}
	if s := f.Stage(Writable); !s.Seen && f.New != "" {
		all = append(all, s.Note)
	}
	if f.MinorityWrites > 0 {
		all = append(all, fmt.Sprintf("%s executed %s writes of clients after the promotion", f.Old,
			units.Count(f.MinorityWrites)))
	}
	if f.MissingBytes > 0 {
		all = append(all, fmt.Sprintf("%s lacked at least %s bytes that %s had written", f.New,
			units.Count(f.MissingBytes), f.Old))
	}
	return append(all, f.Losses.words()...)
}

// Failovers lists the failovers of a run, ordered by promotion. It reads h.Ops once. If reading fails, it returns what
// the operations before the error show.
func Failovers(h harness.History) []Failover {
	w := newFailoverMeters(h)
	_ = eachOp(h, w.add) // what was read before an error still counts
	return w.failovers()
}
