package drawing

import (
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Moment is the state after one step of a counterexample. Its texts have no control characters.
type Moment struct {
	Line
	Top, Bottom int // y positions of the step in the picture, in pixels
	Clients     []ClientState
	Looked      bool        // Stored is known, since the harness looked at the store
	Stored      []StoredKey // the keys that are stored
	More        int64       // number of further keys that are stored
}

// ClientState says what a client believes after a step.
type ClientState struct {
	Who    string
	Belief string // what the client believes; empty: nothing yet
	Over   bool   // a lease that the client relies on is over
	New    bool   // the client began to believe this in this step
}

// StoredKey is a key of the store after a step.
type StoredKey struct {
	interleave.Stored
	New bool // the step added or changed the key
}

// Moments returns the states after the steps that the picture shows, in their order.
func (l *Sequence) Moments(c Story) []Moment {
	all := make([]Moment, len(l.lines))
	beliefs := c.Beliefs(c.Clients)
	said := make([]string, max(0, c.Clients))
	var before []StoredKey
	for i, one := range l.lines {
		m := Moment{Line: one, Top: int(l.places[i].top), Bottom: int(l.places[i].bottom)}
		if here := one.Client; here >= 0 && here < len(said) {
			if one.kind == dies {
				said[here] = harness.Crashed
			} else if one.Belief != "" {
				said[here] = one.Belief
			}
		}
		for client, text := range said {
			m.Clients = append(m.Clients, ClientState{
				Who: fmt.Sprintf("client %d", client+1), Belief: text, Over: isOverdue(beliefs, client, i),
				New: one.Client == client && (one.Belief != "" || one.kind == dies),
			})
		}
		m.setStored(c.Steps[i].Store, before)
		before = m.Stored
		all[i] = m
	}
	return all
}

// isOverdue reports whether the client still relies, at the given step, on a lease that has ended by then.
func isOverdue(beliefs []interleave.Belief, client, step int) bool {
	return slices.ContainsFunc(beliefs, func(b interleave.Belief) bool {
		return b.Client == client && b.LeaseEnds != interleave.Never && b.LeaseEnds <= step &&
			(b.To == interleave.Never || b.To > step)
	})
}

// setStored sets what is stored after the step. A key counts as new if it was missing after the previous step, or had
// another value then. What was stored at that time is in the parameter before.
func (m *Moment) setStored(s *interleave.Store, before []StoredKey) {
	if s == nil {
		return
	}
	m.Looked, m.More = true, int64(s.More)
	for _, k := range s.Keys {
		k.Key, k.Value = units.Visible(k.Key), units.Visible(k.Value)
		old := slices.ContainsFunc(before, func(h StoredKey) bool { return h.Stored == k })
		m.Stored = append(m.Stored, StoredKey{k, !old})
	}
}
