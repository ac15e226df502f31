package findings

import (
	"cmp"
	"math/bits"
)

// Coverage tells what a schedule contained, or what those of a search did.
type Coverage struct {
	Crashed bool `json:"crashed,omitempty"` // some client crashed
	Expired bool `json:"expired,omitempty"` // time passed beyond the end of a lease
	TTLSet  bool `json:"ttlSet,omitempty"`  // some command may have set a TTL
	// there were more instants to which time could have passed than are tried
	TooManyEnds bool `json:"tooManyEnds,omitempty"`
	ClockRead   bool `json:"clockRead,omitempty"` // somebody looked at a clock
	// somebody's next step depended on the time of day, or on what is left of a lease
	TellsTime bool `json:"tellsTime,omitempty"`
	// a wait could have ended early more often than is tried: see maxEarlyWakes
	WakesCut   bool `json:"wakesCut,omitempty"`
	Subscribed bool `json:"subscribed,omitempty"` // a program outside has subscribed
	Heard      bool `json:"heard,omitempty"`      // one has asked for a message
	// describes an operation that was granted without a command; empty: none was
	GrantedFree string `json:"grantedFree,omitempty"`
	Tokens      bool   `json:"tokens,omitempty"` // a grant had a fencing token
	// the clients that acquired something: bit i is that of client i, counted from 1
	Owners uint32 `json:"owners,omitempty"`
}

// add adds what another schedule, or search, contained.
func (m *Coverage) add(c Coverage) {
	m.Crashed, m.Expired, m.TTLSet = m.Crashed || c.Crashed, m.Expired || c.Expired, m.TTLSet || c.TTLSet
	m.TooManyEnds, m.ClockRead, m.WakesCut = m.TooManyEnds || c.TooManyEnds, m.ClockRead ||
		c.ClockRead, m.WakesCut || c.WakesCut
	m.TellsTime = m.TellsTime || c.TellsTime
	m.Subscribed, m.Heard = m.Subscribed || c.Subscribed, m.Heard || c.Heard
	m.GrantedFree, m.Tokens, m.Owners = cmp.Or(m.GrantedFree, c.GrantedFree), m.Tokens || c.Tokens, m.Owners|c.Owners
}

// SoleOwner returns the only client that ever acquired anything, counted from 1. It is 0 if there are several, or none.
func (m Coverage) SoleOwner() int {
	if bits.OnesCount32(m.Owners) != 1 {
		return 0
	}
	return bits.TrailingZeros32(m.Owners)
}
