package jetstream_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/internal/contract"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

var head = jetstream.Head{Kind: "test", Program: "v1", Server: "Redis 7"}

// served starts a server for one test.
func served(t *testing.T) *jetstream.Server {
	t.Helper()
	s, err := jetstream.Serve(t.TempDir(), "127.0.0.1")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	s.Access.Patience = time.Minute
	return s
}

// as returns a function for contract.Open. Its first call returns the coordinator's queue, each later call a worker's.
func as(t *testing.T, a jetstream.Access, name string, sizes jetstream.Sizes) func(string) workqueue.Queue {
	t.Helper()
	lead, first := leadOf(t, a, name, head, sizes), true
	return func(worker string) workqueue.Queue {
		if first {
			first = false
			return lead
		}
		return joinTo(t, a, name, worker)
	}
}

func leadOf(t *testing.T, a jetstream.Access, name string, h jetstream.Head, sizes jetstream.Sizes) *jetstream.Queue {
	t.Helper()
	q, _, err := jetstream.Lead(t.Context(), a, name, "coordinator", h, sizes)
	require.NoError(t, err)
	t.Cleanup(func() { q.Close() })
	return q
}

func joinTo(t *testing.T, a jetstream.Access, name, worker string) *jetstream.Queue {
	t.Helper()
	q, _, err := jetstream.Join(t.Context(), a, name, worker)
	require.NoError(t, err)
	t.Cleanup(func() { q.Close() })
	return q
}

// lead coordinates under the name main. join works for it.
func lead(t *testing.T, a jetstream.Access, sizes jetstream.Sizes) *jetstream.Queue {
	return leadOf(t, a, "main", head, sizes)
}
func join(t *testing.T, a jetstream.Access, worker string) *jetstream.Queue {
	return joinTo(t, a, "main", worker)
}

// one takes a unit, outcome waits for an outcome, and disputed lists disputed units.
func one(t *testing.T, w workqueue.Queue) workqueue.Job {
	t.Helper()
	job, err := w.Take(t.Context())
	require.NoError(t, err)
	return job
}

func outcome(t *testing.T, q workqueue.Queue, u workqueue.Unit) workqueue.Outcome {
	t.Helper()
	o, err := q.Await(t.Context(), u.ID())
	require.NoError(t, err)
	return o
}

func disputed(t *testing.T, q workqueue.Queue) []string {
	t.Helper()
	ids, err := q.Disputed(t.Context())
	require.NoError(t, err)
	return ids
}

// This tests the usual case, leases and late results. make test-long runs the whole contract. Tests of lost servers are
// in other files.
func TestOneServer(t *testing.T) {
	t.Parallel()
	contract.Test(t, contract.InRealTime, oneServer, "each unit has one outcome", "a lease ends",
		"the first result wins over a different one", "the end")
}

func TestLongOneServer(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	contract.Test(t, contract.InRealTime, oneServer)
}

func oneServer(t *testing.T, lease time.Duration) func(string) workqueue.Queue {
	return as(t, served(t).Access, "one", jetstream.Sizes{Lease: lease})
}
