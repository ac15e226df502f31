package command

import "slices"

// Pending is what a connection has to send, and what the outcome depends on besides the store.
type Pending struct {
	Queue       []Command // commands not sent yet
	Node        int       // number of the node to which the connection leads
	Multi       bool      // inside a MULTI
	Queued      Access    // what the commands queued in the MULTI touch
	Transaction []byte    // bytes of those commands
	Watched     []string  // keys under WATCH, which EXEC checks
}

// Next returns the next command. The queue must not be empty.
func (p *Pending) Next() *Command { return &p.Queue[0] }

// OpenTransaction returns the commands queued since MULTI; nil: none, or p is nil.
func (p *Pending) OpenTransaction() []byte {
	if p == nil || !p.Multi {
		return nil
	}
	return p.Transaction
}

// Snapshot returns a copy that does not change.
func (p *Pending) Snapshot() *Pending {
	s := &Pending{Queue: slices.Clone(p.Queue), Node: p.Node, Multi: p.Multi, Queued: p.Queued,
		Watched: slices.Clone(p.Watched)}
	if p.Multi {
		s.Transaction = slices.Clone(p.Transaction)
	}
	return s
}
