package command

import "slices"

// Pending is what a connection has to send next, and all that the outcome depends on apart from what is stored.
type Pending struct {
	Queue       []Command // not yet sent
	Node        int       // number of the node to which the connection leads
	Multi       bool      // between MULTI and EXEC
	Queued      Access    // access of the commands queued in the MULTI
	Transaction []byte    // those commands
	Watched     []string  // keys under WATCH, which EXEC will look at
}

// Next returns the command that is sent next. There is one.
func (p *Pending) Next() *Command { return &p.Queue[0] }

// OpenTransaction returns the commands that are queued between MULTI and EXEC. It is nil without a connection.
func (p *Pending) OpenTransaction() []byte {
	if p == nil || !p.Multi {
		return nil
	}
	return p.Transaction
}

// Snapshot returns a copy that is never changed.
func (p *Pending) Snapshot() *Pending {
	s := &Pending{Queue: slices.Clone(p.Queue), Node: p.Node, Multi: p.Multi, Queued: p.Queued,
		Watched: slices.Clone(p.Watched)}
	if p.Multi {
		s.Transaction = slices.Clone(p.Transaction)
	}
	return s
}
