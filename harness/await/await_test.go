package await_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/await"
)

var errOdd = errors.New("odd")

func TestAllRunsAtTheSameTimeAndKeepsTheOrder(t *testing.T) {
	var met sync.WaitGroup
	met.Add(4)
	errs := await.All(4, func(i int) error {
		met.Done()
		met.Wait() // every call would hang if they did not run concurrently
		if i%2 == 1 {
			return errOdd
		}
		return nil
	})
	require.Equal(t, []error{nil, errOdd, nil, errOdd}, errs)
	require.Empty(t, await.All(0, nil))
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, looks := time.Now(), 0
		require.NoError(t, await.Until(t.Context(), time.Second, func() error { looks++; return oddIf(looks < 4) }))
		require.Equal(t, 3*time.Second, time.Since(began))
		looks = 0
		err := await.Until(t.Context(), time.Second,
			func() error { looks++; return fmt.Errorf("%w: %w", await.ErrGaveUp, errOdd) })
		require.ErrorIs(t, err, errOdd)
		require.Equal(t, 1, looks)
		require.Equal(t, errOdd, await.Poll(t.Context(), time.Second, func() (bool, error) { return false, errOdd }))
	})
}

func oddIf(yes bool) error {
	if yes {
		return errOdd
	}
	return nil
}

// TestUntilTheContextEnds checks that the error says what was missing: cond's last error before the end of the context.
func TestUntilTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Millisecond)
		defer cancel()
		err := await.Until(ctx, 20*time.Millisecond, func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errOdd
		})
		require.ErrorIs(t, err, errOdd)
		require.EqualError(t, err, "context deadline exceeded: odd")
	})
}
