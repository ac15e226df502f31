package jetstream_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// BenchmarkUnit is the cost of a unit beside its work: put, taken, done and awaited, with bodies of 100 kB.
func BenchmarkUnit(b *testing.B) {
	s, err := jetstream.Serve(b.TempDir(), "127.0.0.1")
	require.NoError(b, err)
	q, _, err := jetstream.Lead(b.Context(), s.Access, "main", "coordinator", head, jetstream.Sizes{})
	require.NoError(b, err)
	worker, _, err := jetstream.Join(b.Context(), s.Access, "main", "worker")
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	body := make([]byte, 100_000)
	go func() {
		ended <- workqueue.Worker{Do: func(context.Context, workqueue.Unit) (workqueue.Result, error) {
			return workqueue.Result{Body: body, Claim: "x"}, nil
		}}.Work(ctx, worker)
	}()
	for n := 0; b.Loop(); n++ {
		u := workqueue.Unit{Kind: "x", Body: append(fmt.Append(nil, n), body...)}
		require.NoError(b, q.Put(ctx, u))
		_, err := q.Await(ctx, u.ID())
		require.NoError(b, err)
	}
	require.NoError(b, q.End(ctx))
	<-ended
	cancel()
	_, _ = q.Close(b.Context()), worker.Close(b.Context())
	require.NoError(b, s.Stop())
}
