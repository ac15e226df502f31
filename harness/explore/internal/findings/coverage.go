package findings

import (
	"cmp"
	"math/bits"

	"github.com/doublegrant/doublegrant/harness"
)

// Coverage is what the schedules of a search, or one schedule, contained.
type Coverage struct {
	Crashed bool `json:"crashed,omitempty"` // a client crashed
	Expired bool `json:"expired,omitempty"` // time passed beyond the end of a lease
	TTLSet  bool `json:"ttlSet,omitempty"`  // a command may have set a TTL
	// time could have passed to more instants than the search tries: see maxInstants
	TooManyEnds bool `json:"tooManyEnds,omitempty"`
	ClockRead   bool `json:"clockRead,omitempty"` // a client or script read a clock
	// a client's next step depended on the time of day or on a remaining TTL
	TellsTime bool `json:"tellsTime,omitempty"`
	// a wait could have timed out early, which the search did not try: see maxEarlyWakes
	WakesCut        bool `json:"wakesCut,omitempty"`
	Subscribed      bool `json:"subscribed,omitempty"` // an adapter has subscribed
	AskedForMessage bool `json:"heard,omitempty"`      // an adapter has asked for a message
	// describes an operation that was granted without a command; empty: none
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

// SoleOwner returns the only client that ever acquired anything, counted from 1; 0: several did, or none.
func (m Coverage) SoleOwner() int {
	if bits.OnesCount32(m.Owners) != 1 {
		return 0
	}
	return bits.TrailingZeros32(m.Owners)
}

// Drawn holds what a random search has seen, from which its promise is computed: see interleave.Random. The search's
// lock guards it.
type Drawn struct {
	Drawn int `json:"drawn,omitempty"` // schedules that were drawn and run to their end
	// how many of these were drawn when Drawn.Steps had its final value; the promise counts no others
	Counted int `json:"judged,omitempty"`
	Actors  int `json:"actors,omitempty"` // the largest number of actors in one schedule
	Steps   int `json:"steps,omitempty"`  // steps of the longest schedule
	// the largest number of instants that were possible for one kind of fault at one point of a schedule
	Instants int                   `json:"instants,omitempty"`
	FirstAt  map[harness.Class]int `json:"firstAt,omitempty"` // by class: number of the first schedule that showed it
}

// Draw says how a schedule was drawn at random. The zero value says that it was not.
type Draw struct {
	Number   int // number of the schedule, from 1
	Actors   int // number of actors in the schedule
	Instants int // the largest number of instants that were possible for one kind of fault at one point
}

// count adds a schedule with the given number of steps, if it was drawn at random.
func (r *Drawn) count(steps int, d Draw) {
	if d.Number > 0 {
		r.add(Drawn{Drawn: 1, Counted: 1, Actors: d.Actors, Steps: steps, Instants: d.Instants})
	}
}

// add merges what another search, or a piece of this one, has seen.
func (r *Drawn) add(more Drawn) {
	r.Drawn += more.Drawn
	r.Counted += more.Counted
	r.Actors = max(r.Actors, more.Actors)
	r.Steps = max(r.Steps, more.Steps)
	r.Instants = max(r.Instants, more.Instants)
	for class, number := range more.FirstAt {
		r.note(class, number)
	}
}

// note records that a schedule showed a violation of class c. FirstAt keeps the smallest number of such a schedule. If
// the parameter number is 0, the schedule was not drawn at random, and note does nothing.
func (r *Drawn) note(c harness.Class, number int) {
	if number == 0 {
		return
	}
	if r.FirstAt == nil {
		r.FirstAt = map[harness.Class]int{}
	}
	if old := r.FirstAt[c]; old == 0 || number < old {
		r.FirstAt[c] = number
	}
}
