package explore

import (
	"fmt"
	"strings"
)

// Budget is how often the world may interfere with one schedule.
type Budget struct {
	Clients      int `json:"clients"`                // 2 to MaxClients
	Crashes      int `json:"crashes"`                // clients that crash
	Expiries     int `json:"expiries"`               // times that time passes beyond the end of a lease
	Approaches   int `json:"approaches,omitempty"`   // times that time passes to the last millisecond of a lease
	Failovers    int `json:"failovers"`              // promotions of a replica that has not heard everything
	Flushes      int `json:"flushes"`                // SCRIPT FLUSH
	LostAnswers  int `json:"lostAnswers,omitempty"`  // commands that were executed, whose client got no answer
	LostCommands int `json:"lostCommands,omitempty"` // commands that were not executed, whose client got no answer
	// Place is added to the place of every client but the first. Clients of other places have other names.
	Place int `json:"place,omitempty"`
	Late  int `json:"late,omitempty"` // commands that are executed when their client has gone on without an answer
}

// limits are the parts of a budget beside the clients, with their names.
func (b *Budget) limits() []limit {
	return []limit{
		{&b.Crashes, "crash", "crashes"},
		{&b.Expiries, "expiry", "expiries"},
		{&b.Approaches, "stop in a lease's last instant", "stops in leases' last instants"},
		{&b.Failovers, "failover", "failovers"},
		{&b.Flushes, "script flush", "script flushes"},
		{&b.LostAnswers, "lost answer", "lost answers"},
		{&b.LostCommands, "lost command", "lost commands"},
		{&b.Late, "late command", "late commands"},
	}
}

// limit is a part of a budget.
type limit struct {
	n         *int
	one, many string
}

// String says it in words: "3 clients, at most 1 crash and 1 expiry".
func (b Budget) String() string {
	s := fmt.Sprintf("%d clients", b.Clients)
	if bounds := b.Bounds(); bounds != "" {
		s += ", " + bounds
	}
	return s
}

// Bounds says in words how often the world may interfere: "at most 1 crash and 1 expiry"; empty: never.
func (b Budget) Bounds() string {
	var limits []string
	for _, l := range b.limits() {
		switch n := *l.n; {
		case n == 1:
			limits = append(limits, "1 "+l.one)
		case n > 1:
			limits = append(limits, fmt.Sprintf("%d %s", n, l.many))
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
