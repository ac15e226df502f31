package explore

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// poolOf returns a client of a library that opens its own pool with the dialer of r.
func poolOf(r redis.UniversalClient, idle int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: r.(*redis.Client).Options().Dialer,
		MinIdleConns: idle, MaxRetries: -1, PoolSize: 20})
}

// bringsAPool returns a program whose clients send commands through pools of their own. The function get opens these.
func bringsAPool(get func(i int, r redis.UniversalClient) *redis.Client, commands ...string) interleave.Program {
	p := program(sends(commands...))
	open := p.Open
	p.Open = func(i int, r redis.UniversalClient) harness.Client { return open(i, get(i, r)) }
	return p
}

// A library that opens a pool for each schedule and never closes it can be searched. So can one that keeps its pool.
func TestLibrariesMayMakePoolsOfTheirOwn(t *testing.T) {
	commands := []string{"INCR k", "INCR k", "INCR k"}
	want := searched(t, quiet(program(sends(commands...)))).Schedules
	anew := bringsAPool(func(_ int, r redis.UniversalClient) *redis.Client { return poolOf(r, 8) }, commands...)
	kept := map[redis.UniversalClient]*redis.Client{}
	keeps := bringsAPool(func(_ int, r redis.UniversalClient) *redis.Client {
		if kept[r] == nil {
			kept[r] = poolOf(r, 8)
		}
		return kept[r]
	}, commands...)
	for _, p := range []interleave.Program{anew, keeps} {
		spec := quiet(p)
		spec.WithoutMemory, spec.WithoutReduction = true, true
		res := searched(t, spec)
		require.GreaterOrEqual(t, res.Schedules, want)
	}
	for _, r := range kept {
		require.NoError(t, r.Close())
	}
}

// A client that opens too many connections in one schedule is reported, whichever code dials.
func TestConnectionsOfOneScheduleAreBounded(t *testing.T) {
	p := program(does("k", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		for range mostConnections + 1 {
			if _, err := r.(*redis.Client).Options().Dialer(ctx, "", ""); err != nil {
				return "", err
			}
		}
		return say(ctx, r, "INCR k")
	}))
	require.Contains(t, resultOf(t, quiet(p)).Stopped, "and leaves more open with each schedule")
}
