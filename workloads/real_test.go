package workloads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/lua"
)

// realRedis starts a Redis for the test and returns a client of it.
func realRedis(t *testing.T) (*cluster.Cluster, redis.UniversalClient) {
	t.Helper()
	c := cluster.Standalone(cluster.Options{})
	require.NoError(t, c.Start(t.Context(), harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler)))
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	r, err := c.Connect(0)
	require.NoError(t, err)
	return c, r
}

// before runs f ahead of every command of that name: what other clients do just then, or a crash when it returns an
// error.
type before struct {
	name string
	f    func() error
}

func (before) DialHook(next redis.DialHook) redis.DialHook { return next }
func (before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (b before) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == b.name {
			if err := b.f(); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		return next(ctx, cmd)
	}
}

// other is a second client of the same Redis, without the hooks of the first.
func other(t *testing.T, c *cluster.Cluster) redis.UniversalClient {
	t.Helper()
	r, err := c.Connect(1)
	require.NoError(t, err)
	return r
}

func TestEveryLockKeepsItsContractAlone(t *testing.T) {
	ctx := t.Context()
	_, r := realRedis(t)
	for name, newLocker := range map[string]func(redis.UniversalClient) Locker{
		"setnx-expire": newSetnxExpire, "set-nx-px": newSetNXPX, "blind-del": newBlindDel,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLocker(r)
			got, err := l.Acquire(ctx, name, "a", 2*time.Second)
			require.NoError(t, err)
			require.True(t, got)
			require.InDelta(t, 2*time.Second, r.PTTL(ctx, name).Val(), float64(100*time.Millisecond))
			got, err = l.Acquire(ctx, name, "b", 2*time.Second)
			require.NoError(t, err)
			require.False(t, got, "granted twice")
			mine, err := l.Release(ctx, name, "a")
			require.NoError(t, err)
			require.True(t, mine)
			mine, err = l.Release(ctx, name, "a")
			require.NoError(t, err)
			require.False(t, mine, "released twice")
			got, err = l.Acquire(ctx, name, "b", 2*time.Second)
			require.NoError(t, err)
			require.True(t, got, "not free after its release")
		})
	}
}

func TestALateReleaseHarmsTheNextOwnerOnlyWhereDocumented(t *testing.T) {
	ctx := t.Context()
	_, r := realRedis(t)
	stolen := func(name string, l Locker) bool {
		require.NoError(t, r.Set(ctx, name, "next owner", time.Minute).Err()) // the late owner's lease has ended
		_, err := l.Release(ctx, name, "late owner")
		require.NoError(t, err)
		return r.Exists(ctx, name).Val() == 0
	}
	require.False(t, stolen("set-nx-px", newSetNXPX(r)))
	require.False(t, stolen("setnx-expire", newSetnxExpire(r)))
	require.True(t, stolen("blind-del", newBlindDel(r)))
}

func TestSetnxExpireIsStuckWhenItsClientCrashesBetween(t *testing.T) {
	ctx := t.Context()
	c, r := realRedis(t)
	r.AddHook(before{"expire", func() error { return errors.New("crashed") }})
	_, err := newSetnxExpire(r).Acquire(ctx, "k", "a", time.Second)
	require.Error(t, err)
	require.Equal(t, time.Duration(-1), other(t, c).TTL(ctx, "k").Val(), "the lock has a TTL")
}

func TestSetnxExpireDeletesAnotherOwnersLockWhenTheLeaseEndsInItsRelease(t *testing.T) {
	ctx := t.Context()
	c, r := realRedis(t)
	o := other(t, c)
	l := newSetnxExpire(r)
	_, err := l.Acquire(ctx, "k", "a", time.Second)
	require.NoError(t, err)
	r.AddHook(before{"del", func() error { return o.Set(ctx, "k", "b", time.Minute).Err() }})
	_, err = l.Release(ctx, "k", "a")
	require.NoError(t, err)
	require.Zero(t, o.Exists(ctx, "k").Val(), "b's lock is still there")
}

func TestEveryFilterKeepsItsContractAlone(t *testing.T) {
	ctx := t.Context()
	_, r := realRedis(t)
	for name, newDeduper := range map[string]func(redis.UniversalClient) Deduper{
		"get-set": newDedupGetSet, "get-set-lua": newDedupGetSetLua, "set-nx-ex": newDedupSetNXEX,
	} {
		t.Run(name, func(t *testing.T) {
			f := newDeduper(r)
			for i := range 3 {
				first, err := f.First(ctx, name, 20*time.Second)
				require.NoError(t, err)
				require.Equal(t, i == 0, first)
			}
			require.InDelta(t, 20*time.Second, r.TTL(ctx, name).Val(), float64(time.Second))
		})
	}
}

func TestDedupGetSetTellsTwoWorkersThatTheyAreFirst(t *testing.T) {
	ctx := t.Context()
	c, r := realRedis(t)
	var second bool
	r.AddHook(before{"set", func() (err error) {
		second, err = newDedupGetSet(other(t, c)).First(ctx, "m", time.Minute)
		return err
	}})
	first, err := newDedupGetSet(r).First(ctx, "m", time.Minute)
	require.NoError(t, err)
	require.True(t, first && second, "only one was told so")
}

func TestDedupGetSetMarksForEverWhenItsWorkerCrashesBetween(t *testing.T) {
	ctx := t.Context()
	c, r := realRedis(t)
	r.AddHook(before{"expire", func() error { return errors.New("crashed") }})
	_, err := newDedupGetSet(r).First(ctx, "m", time.Second)
	require.Error(t, err)
	require.Equal(t, time.Duration(-1), other(t, c).TTL(ctx, "m").Val())
}

// draw calls a generator n times with the same proposal.
func draw(t *testing.T, q Sequencer, key, proposed string, n int) []string {
	t.Helper()
	var all []string
	for range n {
		v, err := q.Next(t.Context(), key, proposed)
		require.NoError(t, err)
		all = append(all, v)
	}
	return all
}

func TestStringCompareRestartsAtCall79(t *testing.T) {
	_, r := realRedis(t)
	got := draw(t, newHashSequence(lua.SequenceStringCompareHash)(r), "biz", "23", 79)
	for i := range 78 {
		require.Equal(t, fmt.Sprint(23+i), got[i])
	}
	require.Equal(t, "23", got[78])
}

// The article's own sample, beyond 2^53.
const sample17 = "16081817202494579"

func TestNumericCompareRepeatsTheSampleOfItsArticle(t *testing.T) {
	_, r := realRedis(t)
	got := draw(t, newHashSequence(lua.SequenceNumericCompare)(r), "biz", sample17, 5)
	require.Equal(t, []string{
		"16081817202494580", "16081817202494580", "16081817202494582", "16081817202494584", "16081817202494584",
	}, got)
}

func TestDigitsCompareCountsOnFromTheSample(t *testing.T) {
	_, r := realRedis(t)
	q := newDigitsSequence(r)
	require.Equal(t, []string{
		"16081817202494579", "16081817202494580", "16081817202494581", "16081817202494582", "16081817202494583",
	}, draw(t, q, "biz", sample17, 5))
	got := draw(t, q, "other", "23", 200)
	require.Equal(t, "23", got[0])
	require.Equal(t, "222", got[199])
	require.Equal(t, []string{"100"}, draw(t, q, "zeros", "000100", 1))
	require.Equal(t, []string{"101"}, draw(t, q, "zeros", "000099", 1))
	require.Equal(t, 30*24*time.Hour, r.TTL(t.Context(), "biz").Val().Round(time.Hour), "the TTL is lost")
}

func TestIncrIgnoresTheProposal(t *testing.T) {
	_, r := realRedis(t)
	require.Equal(t, []string{"1", "2", "3"}, draw(t, newIncrSequence(r), "biz", sample17, 3))
}
