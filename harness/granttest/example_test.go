package granttest_test

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

// These examples are compiled and not run. TestRightOnesPass and TestLoadsWithFaults run similar ones in parallel.

// A correct lock passes: every interleaving of three clients, and a load.
func ExampleLock() {
	var t *testing.T // in a test: func TestMyLock(t *testing.T)

	granttest.Lock(t, newGoodLock)
}

// The search has two clients, and Redis forgets its scripts during the load.
func ExampleLock_options() {
	var t *testing.T

	granttest.Lock(t, newGoodLock, granttest.LockOptions{
		TTL:    500 * time.Millisecond,
		Search: granttest.Search{Clients: 2, For: time.Minute},
		Load:   granttest.Load{Clients: 5, Faults: []granttest.Fault{granttest.FlushScripts()}},
	})
}

// A message filter of one step.
func ExampleDedup() {
	var t *testing.T

	granttest.Dedup(t, newGoodFilter)
}

// A number generator, under every regime of proposals.
func ExampleSequence() {
	var t *testing.T

	granttest.Sequence(t, newGoodSequence)
}
