package reports

import (
	"fmt"
	"time"
)

// The two figures of what a failover cost.
const (
	downName   = "no node took writes"
	outageName = "no client was answered"
)

// cost is one figure of what a failover cost, with its words.
type cost struct {
	Name     string
	From, To time.Duration
	Note     string // what else there is to say; may be empty
}

// Length is how long it lasted.
func (c cost) Length() time.Duration { return c.To - c.From }

// String is the cost as part of a sentence, such as "no node took writes for 1.43 s".
func (c cost) String() string {
	s := c.Name + " for " + dur(c.Length())
	if c.Note != "" {
		s += " (" + c.Note + ")"
	}
	return s
}

// costs lists what was seen of what the failover cost: the servers' downtime first, the clients' outage after it.
func (f Failover) costs() (all []cost) {
	if d := f.Servers; d.Seen {
		c := cost{Name: downName, From: d.From, To: d.To}
		if d.Beside > 0 {
			c.Note = fmt.Sprintf("%s and %s both took them for %s", f.Old, f.New, dur(d.Beside))
		}
		all = append(all, c)
	}
	if o := f.Outage; o.Seen {
		all = append(all, cost{Name: outageName, From: o.From, To: o.To,
			Note: fmt.Sprintf("%s failed, %s unknown", count(o.Failed), count(o.Unknown))})
	}
	return all
}
