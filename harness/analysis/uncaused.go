package analysis

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Uncaused reports whether no fault caused the failover.
func (f Failover) Uncaused() bool { return f.Fault < 0 }

// WhyUncaused says what happened in a failover that no fault caused, such as "a failover that no fault caused: r1 did
// not answer the Sentinels for 1,000 ms or longer; the machine was busy (load 12.3 on 2 cores)". It is empty if a fault
// caused the failover.
func (f Failover) WhyUncaused() string {
	if !f.Uncaused() {
		return ""
	}
	s := "a failover that no fault caused"
	if f.Silent > 0 && f.Old != "" {
		s += fmt.Sprintf(": %s did not answer the Sentinels for %s ms or longer", f.Old,
			units.Count(f.Silent.Milliseconds()))
	}
	switch {
	case busy(f.Load):
		s += "; the machine was busy (load " + f.Load + ")"
	case f.Load != "":
		s += "; the load of the machine was " + f.Load
	}
	return s
}

// RemedyUncaused says how to avoid failovers that no fault causes.
const RemedyUncaused = "Use a quiet machine or fewer clients, or give the plan a longer downAfter, and run it again."

// busy reports whether more processes wanted a core than there were cores. load is a text such as "12.3 on 2 cores".
func busy(load string) bool {
	var wanted float64
	var cores int
	n, _ := fmt.Sscanf(load, "%f on %d cores", &wanted, &cores) // n is less than 2 if it has another form
	return n == 2 && wanted > float64(cores)
}

// unplanned returns the shortest time that Sentinels can have had no answer before a takeover without a cause, and the
// load of the machine at that time. Each result is zero if it is not known, or if the takeover has a cause.
func (t *takeover) unplanned(c cause) (silent time.Duration, load string) {
	d := t.detection()
	if len(c.faults) > 0 || d.suspected == notSeen { // without a suspicion, a Sentinel was told to
		return 0, ""
	}
	isLoad := func(e harness.Event) bool { return e.Kind == harness.EventLoad }
	e, _ := t.firstEvent(d.suspected, t.promotedAt, isLoad)
	return t.downAfter, e.Detail
}
