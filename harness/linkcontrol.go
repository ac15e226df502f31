package harness

import "context"

// LinkControl applies faults to the links of a system, and tests links. A link that the system cannot act on is an
// error.
type LinkControl interface {
	// Impair applies the fault to the links. heal undoes it and may be called more than once. heal is never nil, and
	// must be called even after an error. Each of several faults on one link acts until it is undone.
	Impair(links []Link, f LinkFault) (heal func() error, err error)
	// Touched returns what faults have touched on the link so far, without the connections of Probe, Echo and Hangup.
	Touched(l Link) Touched
	// Connections returns the number of the client groups' connections to the node.
	Connections(node string) int

	// Probe asks the host to for an answer, from the host from in a new connection, and waits a fraction of a second
	// for it.
	Probe(ctx context.Context, from, to string) error
	// Echo has the host to send size bytes back, at least one, in a new connection, and waits for them until ctx ends.
	Echo(ctx context.Context, from, to string, size int) error
	// Hangup closes a new connection at its near end, and returns when the far end has closed it as well.
	Hangup(ctx context.Context, from, to string) error
}
