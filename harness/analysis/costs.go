package analysis

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness/units"
)

// The names of the costs of a failover.
const (
	NoWrites       = "no node took writes"
	NoAnswers      = "no client that asked was answered"
	NoClientWrites = "no client could write"
)

// Cost is one cost of a failover, ready to be shown.
type Cost struct {
	Name     string
	From, To time.Duration
	Took     string // length, such as "1.43 s", or a range
	IsRange  bool   // Took is a range, because clients asked too rarely
	Note     string // a further remark; may be empty
}

// Length returns how long the cost lasted.
func (c Cost) Length() time.Duration { return c.To - c.From }

// String returns the cost as part of a sentence, such as "no node took writes for 1.43 s".
func (c Cost) String() string {
	s := c.Name + " for " + c.Took
	if c.Note != "" {
		s += " (" + c.Note + ")"
	}
	return s
}

// Costs lists the recorded costs: the downtime of the servers, then the outages of the clients.
func (f Failover) Costs() (all []Cost) {
	if d := f.Servers; d.Seen {
		c := Cost{Name: NoWrites, From: d.From, To: d.To, Took: units.Duration(d.Length())}
		if d.BothWritable > 0 {
			c.Note = fmt.Sprintf("%s and %s both took them for %s", f.Old, f.New, units.Duration(d.BothWritable))
		}
		all = append(all, c)
	}
	if o := f.Outage; o.Seen {
		all = append(all, Cost{Name: NoAnswers, From: o.From, To: o.To, Took: o.String(), IsRange: o.IsRange(),
			Note: fmt.Sprintf("%s failed, %s unknown", units.Count(o.Failed), units.Count(o.Unknown))})
	}
	if o := f.Writes; o.Seen {
		all = append(all, Cost{Name: NoClientWrites, From: o.From, To: o.To, Took: o.String(), IsRange: o.IsRange()})
	}
	return all
}
