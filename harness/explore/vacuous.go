package explore

import (
	"cmp"
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
)

// This file tells when a search that found nothing has shown nothing.

// met sums up what the schedules of a search contained. Its fields are those of execution; crashed: some client crashed.
type met struct {
	crashed, expired, timed bool
	crowded                 bool   // there were more leases of different ends than are tried
	clocked                 bool   // somebody looked at a clock
	idle                    string // describes an operation that was granted without a command; empty: none was
}

// add adds what a schedule contained.
func (m *met) add(ex *execution) {
	m.expired = m.expired || ex.expired
	m.timed = m.timed || ex.timed
	m.crowded = m.crowded || ex.crowded
	m.clocked = m.clocked || ex.clocked
	m.idle = cmp.Or(m.idle, ex.idle)
	for _, c := range ex.path {
		m.crashed = m.crashed || c.IsCrash()
	}
}

// vacuous returns why a search that ran every schedule and found nothing has shown nothing. It is empty if it has shown
// something.
func (s *search) vacuous(worlds []*world, own string) string {
	b := s.spec.parts()[0]
	switch strays := strays(worlds); {
	case s.met.idle != "":
		return s.met.idle + ": whatever it does, it is no part of the search; send its commands through that client"
	case own != "":
		return "it does something by itself, which is no part of the search: " + own + ". Wait by harness.Sleep and read harness.Now in the goroutine that was called; have the caller renew a lease (an Extender) instead of a watchdog, or put it under load"
	case strays > 0:
		return fmt.Sprintf("%d commands were sent when no operation of their client was under way, so by a goroutine or timer of its own, which is no part of the search: have the caller renew the lease (an Extender), or put it under load instead", strays)
	case s.neverOK() != "":
		return fmt.Sprintf("no %s ever succeeded, so nothing was shown", s.neverOK())
	case b.Expiries > 0 && !s.spec.Program.Timeless && !s.met.expired:
		return "no lease ever ended: nothing was granted for a time, and no key had one"
	case b.Crashes > 0 && !s.met.crashed:
		return "no client could crash: each is done with its first command"
	case s.met.crowded:
		return fmt.Sprintf("there were more than %d leases of different ends at one time, and time passed to the ends of the first only", maxTargets/2)
	case s.met.clocked && worlds[0].fixed == nil:
		return "it looks at a clock, and the servers' clocks cannot be set: " + worlds[0].unset
	case s.doubt != "":
		return "some schedule could not be judged: " + s.doubt
	}
	return ""
}

// neverOK returns a kind of Program.Kinds of which no operation was ok. It is empty if there is none.
func (s *search) neverOK() harness.Kind {
	for _, k := range s.spec.Program.Kinds {
		if !s.seen[k] {
			return k
		}
	}
	return ""
}

// strays counts the commands that clients sent outside of their turns.
func strays(worlds []*world) (n int64) {
	for _, w := range worlds {
		n += w.strays
	}
	return n
}
