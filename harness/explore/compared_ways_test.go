package explore

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// This file has the ways to search that compared_test.go compares.

// searchBy returns a search with some changes to its Spec.
func searchBy(changes ...func(*Spec)) func(*trial) came {
	return func(x *trial) came {
		spec := x.spec
		for _, change := range changes {
			change(&spec)
		}
		whole := x.cameTo(x.t.Context(), spec)
		require.True(x.t, whole.left.Done(), "%s: %s", x.what, whole.stopped)
		return whole
	}
}

// throughJSON returns v as another process would read it.
func throughJSON[T any](t *testing.T, v *T) *T {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	again := new(T)
	require.NoError(t, json.Unmarshal(text, again))
	return again
}

// fromCheckpoints stops the search several times, and each time resumes it as another process would.
func fromCheckpoints(x *trial) came {
	rng := rand.New(rand.NewPCG(uint64(x.n.programs), 13))
	spec := x.spec
	for _, limit := range []int{1, 17, 0, 64, 0, 100, 1, 0, 0} {
		ctx, cancel := context.WithCancel(x.t.Context())
		spec.Checkers, spec.MaxSchedules = x.spec.Checkers, limit
		if limit == 0 || spec.Random != nil { // the search is interrupted after some looks
			var left atomic.Int64
			left.Store(1 + rng.Int64N(60))
			interrupts := finds(func([]harness.Op, func(harness.Anomaly)) {
				if left.Add(-1) == 0 {
					cancel()
				}
			})
			spec.Checkers, spec.MaxSchedules = append(slices.Clone(spec.Checkers), interrupts), 0
		}
		before, c := spec.Resume, x.cameTo(ctx, spec).left
		cancel()
		// otherwise the last schedule had been run, and the search did not know that it was the last
		if before != nil && !c.Done() {
			require.Greater(x.t, c.Schedules()+c.c.Tally.Pruned, before.Schedules()+before.c.Tally.Pruned,
				"it gets on: %s", x.what)
		}
		if !c.Done() {
			x.n.stops++
		}
		spec.Resume = c
	}
	spec.Checkers, spec.MaxSchedules = x.spec.Checkers, 0
	resumed := x.cameTo(x.t.Context(), spec)
	require.True(x.t, resumed.left.Done())
	require.False(x.t, resumed.left.InPieces())
	spec.Resume = resumed.left
	require.Equal(x.t, resumed.tally, x.cameTo(x.t.Context(), spec).tally, "nothing is left to be done")
	return resumed
}

// pieces returns the search in small pieces, so that even a small program has several.
func (x *trial) pieces(workers int, run func(context.Context, Piece) (PieceResult, error)) Spec {
	spec := x.spec
	spec.Pieces = &Pieces{Workers: workers, Run: run, sizes: pieceSizes{10, 50}, saveEvery: 1}
	return spec
}

// pool returns that many workers for the program.
func (x *trial) pool(workers int) *pool {
	p := x.pools[x.spec.Failovers]
	if p == nil {
		p = newPool(x.all, x.scheduler.spec, workers)
		x.pools[x.spec.Failovers] = p
	}
	p.take(x.t, x.spec)
	return p
}

// inPieces searches in pieces, with one worker, two, and so on. All workers but one die.
func inPieces(x *trial) (one came) {
	p := x.pool(x.most)
	for n := 1; n <= x.most; n *= 2 {
		p.mortal = n > 1
		got := x.cameTo(x.t.Context(), x.pieces(n, p.run))
		require.True(x.t, got.left.Done() && got.left.InPieces(), x.what)
		if n == 1 {
			one = got
		}
		equalTallies(x, one, got)
	}
	x.n.pieces, x.n.died = x.n.pieces+p.done.Swap(0), x.n.died+p.died.Swap(0)
	return one
}

// inPiecesFromCheckpoints stops a search in pieces every few pieces, and resumes it with another number of workers.
func inPiecesFromCheckpoints(x *trial) (last came) {
	p := x.pool(2)
	for stop := 1; last.left == nil || !last.left.Done(); stop++ {
		require.Less(x.t, stop, 500, x.what)
		ctx, cancel := context.WithCancel(x.t.Context())
		var n atomic.Int64
		spec := x.pieces(1+stop%3, func(ctx context.Context, piece Piece) (PieceResult, error) {
			if n.Add(1) > int64(1+stop%4) {
				cancel()
				<-ctx.Done()
				return PieceResult{}, ctx.Err()
			}
			return p.run(ctx, piece)
		})
		spec.Resume = last.left
		last = x.cameTo(ctx, spec)
		cancel()
	}
	return last
}
