package granttest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

// printer is a granttest.TB that prints failures, so that the examples below have an output. In a test of yours it is the
// *testing.T.
type printer struct{ name string }

func (printer) Helper()                      {}
func (p printer) Name() string               { return p.name }
func (printer) Context() context.Context     { return context.Background() }
func (printer) Logf(string, ...any)          {}
func (printer) Errorf(f string, args ...any) { fmt.Printf(f+"\n", args...) }
func (printer) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

// A correct lock passes: every interleaving of three clients, and a load.
func ExampleLock() {
	t := printer{"TestMyLock"} // in a test: func TestMyLock(t *testing.T)

	granttest.Lock(t, newGoodLock)
}

// The search has two clients, and Redis forgets its scripts during the load.
func ExampleLock_options() {
	t := printer{"TestMyLock"}

	granttest.Lock(t, newGoodLock, granttest.LockOptions{
		TTL:    500 * time.Millisecond,
		Search: granttest.Search{Clients: 2, For: time.Minute},
		Load:   granttest.Load{Clients: 5, Faults: []granttest.Fault{granttest.FlushScripts()}},
	})

	fmt.Println("passed")
	// Output: passed
}

// A message filter of one step.
func ExampleDedup() {
	t := printer{"TestMyFilter"}

	granttest.Dedup(t, newGoodFilter)

	fmt.Println("passed")
	// Output: passed
}

// A number generator, under every regime of proposals.
func ExampleSequence() {
	t := printer{"TestMyNumbers"}

	granttest.Sequence(t, newGoodSequence)

	fmt.Println("passed")
	// Output: passed
}
