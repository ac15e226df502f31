package analysis

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness/units"
)

// The names of the two figures of what a failover cost.
const (
	NoWrites  = "no node took writes"
	NoAnswers = "no client was answered"
)

// Cost is one figure of what a failover cost, with its words.
type Cost struct {
	Name     string
	From, To time.Duration
	Note     string // what else there is to say; may be empty
}

// Length is how long it lasted.
func (c Cost) Length() time.Duration { return c.To - c.From }

// String is the cost as part of a sentence, such as "no node took writes for 1.43 s".
func (c Cost) String() string {
	s := c.Name + " for " + units.Duration(c.Length())
	if c.Note != "" {
		s += " (" + c.Note + ")"
	}
	return s
}

// Costs lists what was seen of what the failover cost: the servers' downtime first, the clients' outage after it.
func (f Failover) Costs() (all []Cost) {
	if d := f.Servers; d.Seen {
		c := Cost{Name: NoWrites, From: d.From, To: d.To}
		if d.Beside > 0 {
			c.Note = fmt.Sprintf("%s and %s both took them for %s", f.Old, f.New, units.Duration(d.Beside))
		}
		all = append(all, c)
	}
	if o := f.Outage; o.Seen {
		all = append(all, Cost{Name: NoAnswers, From: o.From, To: o.To,
			Note: fmt.Sprintf("%s failed, %s unknown", units.Count(o.Failed), units.Count(o.Unknown))})
	}
	return all
}
