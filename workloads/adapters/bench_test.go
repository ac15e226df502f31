package adapters_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

// inGo is the adapters' lock in this process: the same commands through go-redis.
type inGo struct{ redis redis.UniversalClient }

const goExtend = `if redis.call("get", KEYS[1]) == ARGV[1] then ` +
	`return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`

func (l inGo) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	err := l.redis.Do(ctx, "SET", key, owner, "NX", "PX", ttl.Milliseconds()).Err()
	if err == redis.Nil {
		return false, nil
	}
	return err == nil, err
}

func (l inGo) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	n, err := l.redis.Eval(ctx, goExtend, []string{key}, owner, ttl.Milliseconds()).Int()
	return n == 1, err
}

func (l inGo) Release(ctx context.Context, key, owner string) (bool, error) {
	n, err := l.redis.Eval(ctx, rightRelease, []string{key}, owner).Int()
	return n == 1, err
}

// BenchmarkSchedules measures the explorer's schedules a second on one lock in each language, with one worker.
func BenchmarkSchedules(b *testing.B) {
	inGo := workloads.LockProgram(workloads.Options{},
		func(r redis.UniversalClient) workloads.Locker { return inGo{r} })
	inGo.NoBackgroundWork, inGo.Symmetric = true, true
	b.Run("go", func(b *testing.B) { schedules(b, inGo) })
	for _, a := range adapters {
		b.Run(a.file, func(b *testing.B) {
			c := workloads.Adapter{As: workloads.Lock, Command: a.language.command(b, a.file),
				Can: []string{"acquire", "extend", "release"}, Symmetric: true}
			v, err := adapter.Variant(c)
			require.NoError(b, err)
			defer v.Close()
			p, _ := v.Program(workloads.Options{})
			schedules(b, p)
		})
	}
}

func schedules(b *testing.B, p interleave.Program) {
	n, took := 0, time.Duration(0)
	for b.Loop() {
		res, err := explore.Search(b.Context(), explore.Spec{
			Program: p, Checkers: checkers.ForSearch(p.Kinds...), Workers: 1,
			Bounds: interleave.Bounds{Clients: 2, Crashes: 1, Expiries: 1, LostAnswers: 1},
		})
		require.NoError(b, err)
		require.Equal(b, harness.Valid, res.Verdict(), "%s %s", res.Summary(), res.Stopped)
		n, took = n+res.Schedules, took+res.Elapsed
	}
	b.ReportMetric(float64(n)/took.Seconds(), "schedules/s")
}
