package explore

import (
	"cmp"
	"fmt"
	"math/bits"

	"github.com/doublegrant/doublegrant/harness"
)

// This file tells when a search that found nothing has shown nothing.

// coverage sums up what the schedules of a search contained. Its fields are those of execution; crashed: some client crashed.
type coverage struct {
	crashed, expired, ttlSet bool
	tooManyEnds              bool   // there were more leases of different ends than are tried
	clockRead                bool   // somebody looked at a clock
	wakesCut                 bool   // a wait could have ended early more often than is tried: see maxEarlyWakes
	subscribed, heard        bool   // a program outside has subscribed; one has asked for a message
	grantedFree              string // describes an operation that was granted without a command; empty: none was
	tokens                   bool   // a grant had a fencing token
	owners                   uint32 // the clients that acquired something: bit i is that of client i, counted from 1
}

// add adds what a schedule contained.
func (m *coverage) add(ex *execution) {
	m.expired = m.expired || ex.expired
	m.ttlSet = m.ttlSet || ex.ttlSet
	m.tooManyEnds = m.tooManyEnds || ex.tooManyEnds
	m.clockRead = m.clockRead || ex.clockRead
	m.wakesCut = m.wakesCut || ex.wakesCut
	m.subscribed, m.heard = m.subscribed || ex.subscribed, m.heard || ex.heard
	m.grantedFree = cmp.Or(m.grantedFree, ex.grantedFree)
	for _, c := range ex.path {
		m.crashed = m.crashed || c.IsCrash()
	}
	of := harness.Meta{Workers: len(ex.actors) + 1}
	for _, op := range ex.ops {
		if op.Kind == harness.Acquire && op.Outcome == harness.OK && op.Client != harness.HarnessClient {
			m.owners |= 1 << of.Worker(op.Client)
			m.tokens = m.tokens || op.Result != ""
		}
	}
}

// soleOwner returns the only client that ever acquired anything, counted from 1. It is 0 if there are several, or none.
func (m coverage) soleOwner() int {
	if bits.OnesCount32(m.owners) != 1 {
		return 0
	}
	return bits.TrailingZeros32(m.owners)
}

// vacuous returns why a search that ran every schedule and found nothing has shown nothing. It is empty if it has shown
// something.
func (s *search) vacuous(worlds []*world, own string) string {
	b := s.spec.budgets()[0]
	switch strays := s.strays + countStrays(worlds); {
	case s.coverage.grantedFree != "":
		return s.coverage.grantedFree + ": whatever it does, it is not part of the search; send its commands through that client"
	case s.coverage.subscribed && !s.coverage.heard:
		return "it has subscribed, and never asked for a message, so whatever it reads there is not part of the search: see Subscriptions in workloads/clients/README.md"
	case own != "":
		return "it does something by itself, which is not part of the search: " + own + ". Wait by harness.Sleep and read harness.Now in the goroutine that was called; start a watchdog by harness.Go, or put it under load"
	case strays > 0:
		return fmt.Sprintf("%d commands were sent when no operation of their client was under way, so by a goroutine or timer of its own, which is not part of the search: start it by harness.Go, or put it under load instead", strays)
	case s.neverOK() != "":
		return fmt.Sprintf("no %s ever succeeded, so nothing was shown", s.neverOK())
	case s.coverage.soleOwner() > 0:
		return fmt.Sprintf("only client %d ever acquired anything, so nothing was shown of two owners", s.coverage.soleOwner())
	case s.spec.Program.Fenced && !s.coverage.tokens:
		return "no grant had a fencing token: each was empty"
	case b.Expiries > 0 && !s.spec.Program.Timeless && !s.coverage.expired:
		return "no lease ever ended: nothing was granted for a time, and no key had one"
	case b.Crashes > 0 && !s.coverage.crashed:
		return "no client could crash: each is done with its first command"
	case s.coverage.tooManyEnds:
		return fmt.Sprintf("there were more than %d leases of different ends at one time, and time passed to the ends of the first only", maxInstants/2)
	case s.coverage.clockRead && !worlds[0].SetsClocks():
		return "it looks at a clock, and the servers' clocks cannot be set: " + worlds[0].WhyNoClock
	case s.doubt != "":
		return "some schedule could not be judged: " + s.doubt
	}
	return ""
}

// neverOK returns a kind of Program.Kinds of which no operation was ok. It is empty if there is none.
func (s *search) neverOK() harness.Kind {
	for _, k := range s.spec.Program.Kinds {
		if !s.okKinds[k] {
			return k
		}
	}
	return ""
}

// countStrays counts the commands that clients sent outside of their turns.
func countStrays(worlds []*world) (n int64) {
	for _, w := range worlds {
		n += w.strayCommands
	}
	return n
}
