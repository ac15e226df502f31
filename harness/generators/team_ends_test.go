package generators_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/generators"
)

// This file ends generators in the middle of a run.

// mortal is a generator's post that stops working, as if the generator's process were killed.
type mortal struct {
	generators.Post
	dead atomic.Bool
}

var errDead = errors.New("killed")

func (m *mortal) Ask(ctx context.Context, subject string, message []byte) ([]byte, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Post.Ask(ctx, subject, message)
}

func (m *mortal) Answer(subject string, answer func([]byte, func([]byte))) (func(), error) {
	return m.Post.Answer(subject, func(message []byte, reply func([]byte)) {
		if !m.dead.Load() {
			answer(message, reply)
		}
	})
}

func TestAGeneratorThatIsKilledLeavesNothingValid(t *testing.T) {
	virtually(t, func(t *testing.T) {
		post := generators.NewMemory()
		began := time.Now()
		res, err := spread{store: &store{}, post: post, clocks: apart()[:2], clients: 4, duration: 40 * time.Second,
			worker: func(ctx context.Context, i int, w generators.Generator) error {
				if i == 0 {
					return w.Serve(ctx, post)
				}
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				killed := &mortal{Post: post}
				time.AfterFunc(time.Second, func() { killed.dead.Store(true); cancel() })
				return w.Serve(ctx, killed)
			},
		}.run(t)
		require.ErrorIs(t, err, generators.ErrLost)
		require.ErrorContains(t, err, "harness: generator ")
		require.Equal(t, harness.Unknown, res.Verdict, res.Summary())
		require.Contains(t, res.History.End.Reason, "the other side was silent for 15s")
		require.Less(t, time.Since(began), 30*time.Second)
	})
}

// TestNobodyWaitsForAGeneratorThatIsKnownToHaveEnded checks that the other generators end their load in good order, and
// are told that the run is over.
func TestNobodyWaitsForAGeneratorThatIsKnownToHaveEnded(t *testing.T) {
	virtually(t, func(t *testing.T) {
		post, lost, number := generators.NewMemory(), make(chan generators.EndedError, 1), 0
		served := make(chan error, 1)
		const diesAfter = time.Second
		began := time.Now()
		res, err := spread{store: &store{}, post: post, lost: lost, clocks: apart()[:3], clients: 6,
			duration: 40 * time.Second,
			worker: func(ctx context.Context, i int, w generators.Generator) error {
				if i != 1 {
					err := w.Serve(ctx, post)
					if err != nil {
						t.Errorf("%s: %v", w.Name, err)
					}
					return err
				}
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				killed := &mortal{Post: post}
				w.Joined = func(n int) { number = n }
				go func() { served <- w.Serve(ctx, killed) }() // it goes on after its death
				time.Sleep(diesAfter)
				killed.dead.Store(true)
				lost <- generators.EndedError{Name: w.Name, Why: errDead}
				return nil
			},
		}.run(t)
		require.ErrorIs(t, err, errDead)
		require.EqualError(t, err, fmt.Sprintf("harness: generator %d: killed", number))
		require.Equal(t, harness.Unknown, res.Verdict, res.Summary())
		require.Less(t, time.Since(began), diesAfter+time.Second)
		require.Error(t, <-served)
	})
}

func TestAGeneratorThatEndsEndsTheRun(t *testing.T) {
	virtually(t, func(t *testing.T) {
		post := generators.NewMemory()
		res, err := spread{store: &store{}, post: post, clocks: apart()[:2], clients: 4, duration: 40 * time.Second,
			worker: func(ctx context.Context, i int, w generators.Generator) error {
				within := time.Duration(1+99*i) * time.Second
				ctx, cancel := context.WithTimeoutCause(ctx, within, errors.New("interrupted"))
				defer cancel()
				return w.Serve(ctx, post)
			},
		}.run(t)
		require.ErrorContains(t, err, "its load ended early")
		require.ErrorContains(t, err, "interrupted")
		require.Equal(t, harness.Unknown, res.Verdict, res.Summary())
	})
}
