package findings

import (
	"cmp"
	"math/bits"
)

// Coverage is what the schedules of a search, or one schedule, contained.
type Coverage struct {
	Crashed bool `json:"crashed,omitempty"` // a client crashed
	Expired bool `json:"expired,omitempty"` // time passed beyond the end of a lease
	TTLSet  bool `json:"ttlSet,omitempty"`  // a command may have set a TTL
	// more instants were reachable than are tried
	TooManyEnds bool `json:"tooManyEnds,omitempty"`
	ClockRead   bool `json:"clockRead,omitempty"` // a client or script read a clock
	// a client's next step depended on the time of day or on the rest of a lease
	TellsTime bool `json:"tellsTime,omitempty"`
	// more waits could have ended early than are tried: see maxEarlyWakes
	WakesCut        bool `json:"wakesCut,omitempty"`
	Subscribed      bool `json:"subscribed,omitempty"` // an adapter has subscribed
	AskedForMessage bool `json:"heard,omitempty"`      // such a program has asked for a message
	// an operation that was granted without a command, described; empty: none
	GrantedFree string `json:"grantedFree,omitempty"`
	Tokens      bool   `json:"tokens,omitempty"` // a grant had a fencing token
	// clients that acquired something: bit i is client i, from 1
	Owners uint32 `json:"owners,omitempty"`
}

// add merges the coverage of another schedule or search.
func (m *Coverage) add(c Coverage) {
	m.Crashed = m.Crashed || c.Crashed
	m.Expired = m.Expired || c.Expired
	m.TTLSet = m.TTLSet || c.TTLSet
	m.TooManyEnds = m.TooManyEnds || c.TooManyEnds
	m.ClockRead = m.ClockRead || c.ClockRead
	m.TellsTime = m.TellsTime || c.TellsTime
	m.WakesCut = m.WakesCut || c.WakesCut
	m.Subscribed = m.Subscribed || c.Subscribed
	m.AskedForMessage = m.AskedForMessage || c.AskedForMessage
	m.GrantedFree = cmp.Or(m.GrantedFree, c.GrantedFree)
	m.Tokens = m.Tokens || c.Tokens
	m.Owners |= c.Owners
}

// SoleOwner returns the only client that ever acquired anything, from 1; 0: several, or none.
func (m Coverage) SoleOwner() int {
	if bits.OnesCount32(m.Owners) != 1 {
		return 0
	}
	return bits.TrailingZeros32(m.Owners)
}
