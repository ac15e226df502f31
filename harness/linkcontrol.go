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

	// Probe opens a connection from source to target, and waits a fraction of a second for an answer of target.
	Probe(ctx context.Context, source, target string) error
	// Echo opens a connection from source to target, and has target send size bytes back. The least size is 1. Echo
	// waits for these bytes until ctx ends.
	Echo(ctx context.Context, source, target string, size int) error
	// Hangup opens a connection from source to target, closes it at source, and returns when target has closed it too.
	Hangup(ctx context.Context, source, target string) error
}
