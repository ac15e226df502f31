package explore

import (
	"cmp"
	"fmt"
	"math/bits"

	"github.com/doublegrant/doublegrant/harness"
)

// This file tells when a search that found nothing has shown nothing.

// coverage tells what a schedule contained, or what those of a search did.
type coverage struct {
	Crashed     bool   `json:"crashed,omitempty"`     // some client crashed
	Expired     bool   `json:"expired,omitempty"`     // time passed beyond the end of a lease
	TTLSet      bool   `json:"ttlSet,omitempty"`      // some command may have set a TTL
	TooManyEnds bool   `json:"tooManyEnds,omitempty"` // there were more instants to which time could have passed than are tried
	ClockRead   bool   `json:"clockRead,omitempty"`   // somebody looked at a clock
	WakesCut    bool   `json:"wakesCut,omitempty"`    // a wait could have ended early more often than is tried: see maxEarlyWakes
	Subscribed  bool   `json:"subscribed,omitempty"`  // a program outside has subscribed
	Heard       bool   `json:"heard,omitempty"`       // one has asked for a message
	GrantedFree string `json:"grantedFree,omitempty"` // describes an operation that was granted without a command; empty: none was
	Tokens      bool   `json:"tokens,omitempty"`      // a grant had a fencing token
	Owners      uint32 `json:"owners,omitempty"`      // the clients that acquired something: bit i is that of client i, counted from 1
}

// add adds what another schedule, or search, contained.
func (m *coverage) add(c coverage) {
	m.Crashed, m.Expired, m.TTLSet = m.Crashed || c.Crashed, m.Expired || c.Expired, m.TTLSet || c.TTLSet
	m.TooManyEnds, m.ClockRead, m.WakesCut = m.TooManyEnds || c.TooManyEnds, m.ClockRead || c.ClockRead, m.WakesCut || c.WakesCut
	m.Subscribed, m.Heard = m.Subscribed || c.Subscribed, m.Heard || c.Heard
	m.GrantedFree, m.Tokens, m.Owners = cmp.Or(m.GrantedFree, c.GrantedFree), m.Tokens || c.Tokens, m.Owners|c.Owners
}

// covers returns what a schedule that has ended contained.
func (ex *execution) covers() coverage {
	m := ex.coverage
	for _, c := range ex.path {
		m.Crashed = m.Crashed || c.IsCrash()
	}
	of := harness.Meta{Workers: len(ex.actors) + 1}
	for _, op := range ex.ops {
		if op.Kind == harness.Acquire && op.Outcome == harness.OK && op.Client != harness.HarnessClient {
			m.Owners |= 1 << of.Worker(op.Client)
			m.Tokens = m.Tokens || op.Result != ""
		}
	}
	return m
}

// soleOwner returns the only client that ever acquired anything, counted from 1. It is 0 if there are several, or none.
func (m coverage) soleOwner() int {
	if bits.OnesCount32(m.Owners) != 1 {
		return 0
	}
	return bits.TrailingZeros32(m.Owners)
}

// vacuous returns why a search that ran every schedule and found nothing has shown nothing. It is empty if it has shown
// something.
func (s *search) vacuous(worlds []*world, own string) string {
	b := s.spec.budgets()[0]
	switch strays := s.strays + countStrays(worlds); {
	case s.coverage.GrantedFree != "":
		return s.coverage.GrantedFree + ": whatever it does, it is not part of the search; send its commands through that client"
	case s.coverage.Subscribed && !s.coverage.Heard:
		return "it has subscribed, and never asked for a message, so whatever it reads there is not part of the search: see Subscriptions in workloads/clients/README.md"
	case own != "":
		return "it does something by itself, which is not part of the search: " + own + ". Wait by harness.Sleep and read harness.Now in the goroutine that was called; start a watchdog by harness.Go, or put it under load"
	case strays > 0:
		return fmt.Sprintf("%d commands were sent when no operation of their client was under way, so by a goroutine or timer of its own, which is not part of the search: start it by harness.Go, or put it under load instead", strays)
	case s.neverOK() != "":
		return fmt.Sprintf("no %s ever succeeded, so nothing was shown", s.neverOK())
	case s.coverage.soleOwner() > 0:
		return fmt.Sprintf("only client %d ever acquired anything, so nothing was shown of two owners", s.coverage.soleOwner())
	case s.spec.Program.Fenced && !s.coverage.Tokens:
		return "no grant had a fencing token: each was empty"
	case b.Expiries > 0 && !s.spec.Program.Timeless && !s.coverage.Expired:
		return "no lease ever ended: nothing was granted for a time, and no key had one"
	case b.Crashes > 0 && !s.coverage.Crashed:
		return "no client could crash: each is done with its first command"
	case s.coverage.TooManyEnds:
		return fmt.Sprintf("there were more than %d leases of different ends at one time, and time passed to the ends of the first only", maxInstants/2)
	case s.coverage.ClockRead && !worlds[0].SetsClocks():
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
