package nemesis_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/nemesis"
)

// reluctant is a cluster whose Sentinels give the first failover up. The second one promotes r2. But if a Sentinel was
// told to crash in a failover, it crashes in the second one, without an answer.
type reluctant struct {
	*sketch
	asked, told *int
}

func reluctantOne() reluctant { return reluctant{threeOf("s1", "s2", "s3"), new(int), new(int)} }

func (r reluctant) Do(ctx context.Context, node string, command ...any) (any, error) {
	reply, err := r.sketch.Do(ctx, node, command...)
	if err != nil || len(command) < 2 || command[0] != "SENTINEL" {
		return reply, err
	}
	switch command[1] {
	case "MASTER":
		return []any{"ip", "127.0.0.1", "port", "6379", "flags", "master"}, nil
	case "SIMULATE-FAILURE":
		*r.told++
	case "FAILOVER":
		if *r.asked++; *r.asked == 2 && *r.told > 0 {
			return nil, errors.Join(io.EOF, r.Kill(node))
		}
		if *r.asked == 2 {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.promoted = "r2"
		}
	}
	return "OK", nil
}

func TestASentinelThatGivesItsFailoverUpIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := reluctantOne()
		inj, err := nemesis.SentinelFailover(r).Inject(t.Context(), rng())
		require.NoError(t, err)
		seen, err := inj.Prove(t.Context())
		require.NoError(t, err)
		require.Equal(t, "r2 was promoted", seen)
		require.Equal(t, 2, *r.asked)

		r = reluctantOne()
		inj, err = nemesis.SimulateFailure(r, nemesis.AfterPromotion()).Inject(t.Context(), rng())
		require.NoError(t, err)
		require.Len(t, inj.Targets, 1)
		require.False(t, r.Running(inj.Targets[0]))
		require.NoError(t, inj.Heal(t.Context()))
		require.True(t, r.Running(inj.Targets[0]))
	})
}
