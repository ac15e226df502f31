package interleave

import (
	"fmt"
	"strings"
)

// Budget bounds what may happen in one schedule. 0 means never, and counts are not negative. The zero value has no
// clients, so a search cannot use it.
type Budget struct {
	Clients  int `json:"clients"`  // number of clients, 2 to MaxClients
	Crashes  int `json:"crashes"`  // clients that crash
	Expiries int `json:"expiries"` // how often time passes beyond the end of a lease
	// how often time passes to a moment shortly before the end of a lease; if more than 0, one script may also take a
	// millisecond
	Approaches   int `json:"approaches,omitempty"`
	Failovers    int `json:"failovers"`              // promotions of a lagging replica, 0 or 1
	Flushes      int `json:"flushes"`                // flushes of the script cache
	LostAnswers  int `json:"lostAnswers,omitempty"`  // commands that are executed without an answer
	LostCommands int `json:"lostCommands,omitempty"` // commands that are not executed, without an answer
	// Place is added to the place of every client but the first: see Program.Open. A client's place decides its name, so a
	// schedule of two clients can have the names of the first and, say, the fifth.
	Place int `json:"place,omitempty"`
	// commands that are executed after their client has gone on without an answer, at most MaxPerKind
	Late int `json:"late,omitempty"`
}

// limits lists the counts of what may go wrong, each with its name: all fields except Clients and Place.
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

// Without returns how much of b has been used. What remains of b is the parameter left. Clients and Place stay as they
// are.
func (b Budget) Without(left Budget) Budget {
	for i, l := range left.limits() {
		*b.limits()[i].n -= *l.n
	}
	return b
}

// limit is one count of a budget, with its name in the singular and in the plural.
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

// String describes the budget: "3 clients, at most 1 crash and 1 expiry".
func (b Budget) String() string {
	s := fmt.Sprintf("%d clients", b.Clients)
	if most := b.AtMost(); most != "" {
		s += ", " + most
	}
	return s
}

// AtMost describes what may go wrong: "at most 1 crash and 1 expiry". It is empty if nothing may.
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
