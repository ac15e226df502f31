package interleave

import (
	"fmt"
	"strings"
)

// Budget bounds what may happen in one schedule. A count of 0 means never; none is negative. The zero value is not a
// search's budget: it has no clients.
type Budget struct {
	Clients  int `json:"clients"`  // clients of a schedule, 2 to MaxClients
	Crashes  int `json:"crashes"`  // clients that crash
	Expiries int `json:"expiries"` // times that time passes beyond the end of a lease
	// times that time passes to shortly before the end of a lease; more than 0 lets one script take a millisecond as
	// well
	Approaches   int `json:"approaches,omitempty"`
	Failovers    int `json:"failovers"`              // promotions of a replica that has not heard everything, 0 or 1
	Flushes      int `json:"flushes"`                // times that the script cache is flushed
	LostAnswers  int `json:"lostAnswers,omitempty"`  // commands that are executed, whose client gets no answer
	LostCommands int `json:"lostCommands,omitempty"` // commands that are not executed, whose client gets no answer
	// Place is added to the place of every client but the first: see Program.Open. A client's name depends on its
	// place, so with it two clients can have names other than those of the first two.
	Place int `json:"place,omitempty"`
	// commands that are executed after their client has gone on without an answer, at most MaxPerKind
	Late int `json:"late,omitempty"`
}

// limits lists the counts of what may go wrong, with their names: all fields but Clients and Place.
func (b *Budget) limits() []limit {
	return []limit{
		{&b.Crashes, "crash", "crashes"},
		{&b.Expiries, "expiry", "expiries"},
		{&b.Approaches, "stop before a lease's end", "stops before leases' ends"},
		{&b.Failovers, "failover", "failovers"},
		{&b.Flushes, "script flush", "script flushes"},
		{&b.LostAnswers, "lost answer", "lost answers"},
		{&b.LostCommands, "lost command", "lost commands"},
		{&b.Late, "late command", "late commands"},
	}
}

// SlowScripts returns the number of scripts that may take a millisecond, 0 or 1.
func (b Budget) SlowScripts() int { return min(1, b.Approaches) }

// Faults returns the number of things that may go wrong in one schedule.
func (b Budget) Faults() (n int) {
	n = b.SlowScripts()
	for _, l := range b.limits() {
		n += *l.n
	}
	return n
}

// Without returns the budget that is used where left is what is left of b.
func (b Budget) Without(left Budget) Budget {
	for i, l := range left.limits() {
		*b.limits()[i].n -= *l.n
	}
	return b
}

// limit names one count of a budget.
type limit struct {
	n         *int
	one, many string
}

func (l limit) String() string {
	if *l.n == 1 {
		return "1 " + l.one
	}
	return fmt.Sprintf("%d %s", *l.n, l.many)
}

// String says in words what may happen: "3 clients, at most 1 crash and 1 expiry".
func (b Budget) String() string {
	s := fmt.Sprintf("%d clients", b.Clients)
	if most := b.AtMost(); most != "" {
		s += ", " + most
	}
	return s
}

// AtMost says in words how often the world may interfere: "at most 1 crash and 1 expiry". It is empty if it never
// may.
func (b Budget) AtMost() string {
	var limits []string
	for _, l := range b.limits() {
		if *l.n > 0 {
			limits = append(limits, l.String())
		}
	}
	switch n := len(limits); n {
	case 0:
		return ""
	case 1:
		return "at most " + limits[0]
	default:
		return "at most " + strings.Join(limits[:n-1], ", ") + " and " + limits[n-1]
	}
}
