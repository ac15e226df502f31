package workloads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// settled runs one operation of these commands through the tracer and returns its outcome.
func settled(ctx context.Context, r redis.UniversalClient, commands func(context.Context) error) harness.Op {
	var op harness.Op
	ctx, call := withCall(ctx)
	call.finish(&op, commands(ctx))
	return op
}

func TestAnErrorIsAFailOnlyIfNoCommandCanHaveRun(t *testing.T) {
	c, plain := realRedis(t)
	p := newPool(c)
	r, err := p.client(0)
	require.NoError(t, err)
	again, err := p.client(0)
	require.NoError(t, err)
	require.Same(t, r, again)
	lost := errors.New("reply lost")
	set := func(ctx context.Context) error { return r.Set(ctx, "k", "v", 0).Err() }
	for _, x := range []struct {
		what     string
		commands func(context.Context) error
		outcome  harness.Outcome
	}{
		{"a SET", set, harness.OK},
		{"a SET that has run", func(ctx context.Context) error { _ = set(ctx); return lost }, harness.Info},
		{"one without its context", func(context.Context) error { _ = set(context.Background()); return lost },
			harness.Info},
		{"an unknown script", func(ctx context.Context) error { return r.EvalSha(ctx, "0000", []string{"k"}).Err() },
			harness.Fail},
		{"a pipeline whose SET has run", func(ctx context.Context) error {
			_, err := r.Pipelined(ctx, func(p redis.Pipeliner) error {
				p.EvalSha(ctx, "0000", []string{"k"})
				return p.Set(ctx, "k", "v", 0).Err()
			})
			return err
		}, harness.Info},
		{"", func(ctx context.Context) error {
			return plain.Do(ctx, "CONFIG", "SET", "min-replicas-to-write", "1").Err()
		}, harness.OK},
		{"a SET that is refused", set, harness.Fail},
		{"one after a command that has run", func(ctx context.Context) error {
			if err := r.Get(ctx, "k").Err(); err != nil {
				return err
			}
			return set(ctx)
		}, harness.Info},
	} {
		op := settled(t.Context(), r, x.commands)
		require.Equal(t, x.outcome, op.Outcome, "%s: %s", x.what, op.Err)
	}
}

func TestAStoppedServerLeavesOperationsUnknown(t *testing.T) {
	c, _ := realRedis(t)
	r := traced(t, c)
	set := func(ctx context.Context) error { return r.Set(ctx, "k", "v", 0).Err() }
	require.Equal(t, harness.OK, settled(t.Context(), r, set).Outcome)
	require.NoError(t, c.Pause(t.Context(), "r1"))
	op := settled(t.Context(), r, set)
	require.Equal(t, harness.Info, op.Outcome, "the SET waits in the server's socket")
	require.Equal(t, "timeout", op.Err)
	op = settled(t.Context(), r, set)
	require.Equal(t, harness.Fail, op.Outcome, "no connection was greeted, so no SET was sent")
	require.NoError(t, c.Resume("r1"))
}

func TestReasonsAreShortAndStable(t *testing.T) {
	timeout := &net.OpError{Op: "read", Err: context.DeadlineExceeded}
	for want, err := range map[string]error{
		"closed":        fmt.Errorf("read: %w", io.EOF),
		"timeout":       timeout,
		"no connection": redis.ErrPoolTimeout,
		"cancelled":     context.Canceled,
		"other":         errors.New("other"),
	} {
		require.Equal(t, want, reason(err))
	}
}

func TestRegimes(t *testing.T) {
	at := time.Date(2016, 8, 18, 17, 20, 24, 945*int(time.Millisecond), time.UTC)
	require.Regexp(t, `^160818172024945\d\d$`, timestamp17(at, newRand()))
	require.Equal(t, "23", Fixed.generator()(newRand()))
	for _, r := range Regimes() {
		got, err := ParseRegime(string(r))
		require.NoError(t, err)
		require.Equal(t, r, got)
	}
	_, err := ParseRegime("nope")
	require.ErrorContains(t, err, "fixed, timestamp17, growing")
}

func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range Catalogue() {
		require.False(t, seen[v.ID], v.ID)
		seen[v.ID] = true
		require.NotEmpty(t, v.Doc, v.ID)
		require.NotEmpty(t, v.Source, v.ID)
		require.NotEmpty(t, v.Claim, v.ID)
		require.NotEmpty(t, v.Flaws, "%s: no variant here survives the loss of acknowledged writes", v.ID)
		require.Equal(t, v.ID, v.Workload(nil, Options{}).Name())
	}
	_, err := Find("lock/none")
	require.ErrorContains(t, err, "lock/set-nx-px")
	_, err = Find("none")
	require.ErrorContains(t, err, "doublegrant list")
}

func TestIntervals(t *testing.T) {
	for want, in := range map[string][]int64{
		"": nil, "3": {3}, "0-2": {0, 1, 2}, "0-1,5,7-9": {0, 1, 5, 7, 8, 9},
	} {
		require.Equal(t, want, formatIntervals(in))
	}
}
