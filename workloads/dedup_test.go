package workloads

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
)

// muchPatience is a timeout for WAIT that even a busy machine does not reach if there are enough replicas.
const muchPatience = 5 * time.Second

// patientWait returns v with a longer timeout for its replicas.
func patientWait(v Variant) Variant {
	w := waitArguments{v.Acks, muchPatience}
	switch {
	case v.Acks == 0:
	case v.Family == Lock:
		v.newLocker = newSetNXPXWait(w)
	case v.Family == Dedup:
		v.newDeduper = newDedupSetNXEXWait(w)
	case v.Family == Sequence:
		v.newSequencer = newIncrWaitSequence(w)
	}
	return v
}

// realSentinel starts a primary for the test, with replicas that have received a write, and returns a client of it.
func realSentinel(t *testing.T) redis.UniversalClient {
	t.Helper()
	r, err := clustertest.Start(t, cluster.Sentinel(cluster.Options{OpTimeout: 2 * muchPatience})).Connect(0)
	require.NoError(t, err)
	heard := func() bool {
		return waitFor(1).write(t.Context(), r, func(p redis.Cmdable) { p.Set(t.Context(), "w", "", 0) }) == nil
	}
	require.Eventually(t, heard, time.Minute, time.Millisecond, "no replica answers a WAIT")
	return r
}

// fastTime is a clock whose Sleep returns at once and adds d to slept.
type fastTime struct{ slept *time.Duration }

func (fastTime) Now() time.Time { return time.Now() }
func (f fastTime) Sleep(_ context.Context, d time.Duration) error {
	*f.slept += d
	return nil
}

// end makes a key end now.
func end(t *testing.T, r redis.UniversalClient, key string) {
	t.Helper()
	require.True(t, r.PExpireAt(t.Context(), key, time.Unix(1, 0)).Val(), "%s does not exist", key)
}

// isFirst claims a message from a filter.
func isFirst(t *testing.T, f Deduper, id string) bool {
	t.Helper()
	first, err := f.First(t.Context(), id, dedupWindow)
	require.NoError(t, err)
	return first
}

const dedupWindow = 20 * time.Second

// eachFilter runs f for every filter of the catalogue, on a Redis with the replicas that it waits for.
func eachFilter(t *testing.T, f func(t *testing.T, v Variant, r redis.UniversalClient)) {
	_, alone := realRedis(t)
	replicated := realSentinel(t)
	for _, v := range dedupVariants() {
		r := alone
		if v.Acks > 0 {
			r = replicated
		}
		t.Run(v.ID, func(t *testing.T) { f(t, patientWait(v), r) })
	}
}

func TestEveryFilterKeepsItsContractAlone(t *testing.T) {
	eachFilter(t, func(t *testing.T, v Variant, r redis.UniversalClient) {
		keepsContract(t, v.newDeduper(r), v.newDeduper(r), r)
	})
}

// keepsContract lets two workers claim the same message from f and g.
func keepsContract(t *testing.T, f, g Deduper, r redis.UniversalClient) {
	t.Helper()
	ctx, id := t.Context(), t.Name()
	require.True(t, isFirst(t, f, id))
	if c, ok := f.(Confirmer); ok {
		require.InDelta(t, c.Lease(dedupWindow), r.PTTL(ctx, id).Val(), float64(time.Second))
		require.False(t, isFirst(t, g, id), "claimed twice inside the lease")
		mine, err := c.Confirm(ctx, id, dedupWindow)
		require.NoError(t, err)
		require.True(t, mine)
	}
	require.False(t, isFirst(t, f, id))
	require.False(t, isFirst(t, g, id))
	require.InDelta(t, dedupWindow, r.PTTL(ctx, id).Val(), float64(time.Second))
}

func TestOneWorkerIsFirstWhereThatIsClaimed(t *testing.T) {
	const workers, messages = 8, 50
	eachFilter(t, func(t *testing.T, v Variant, r redis.UniversalClient) {
		if v.Claim != OneNode {
			t.SkipNow()
		}
		var firsts [messages]atomic.Int64
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				f := v.newDeduper(r)
				for m := range messages {
					if first, err := f.First(t.Context(), fmt.Sprint(v.ID, m), time.Minute); err == nil && first {
						firsts[m].Add(1)
					}
				}
			})
		}
		all.Wait()
		for m := range messages {
			require.EqualValues(t, 1, firsts[m].Load(), "message %d", m)
		}
	})
}

func TestDedupSetnxExpireMarksForEverWhenItsWorkerCrashesBetween(t *testing.T) {
	c, r := realRedis(t)
	r.AddHook(before("expire", func() error { return errCrash }))
	_, err := newDedupSetnxExpire(r).First(t.Context(), "m", time.Second)
	require.ErrorIs(t, err, errCrash)
	require.Equal(t, time.Duration(-1), other(t, c).TTL(t.Context(), "m").Val())
	require.False(t, isFirst(t, newDedupSetnxExpire(other(t, c)), "m"), "the message is not lost")
}

func TestDedupLockGetSetTakesALockedMessageAsSeen(t *testing.T) {
	var slept time.Duration
	ctx := harness.WithTime(t.Context(), fastTime{&slept})
	_, r := realRedis(t)
	require.NoError(t, r.Set(ctx, "m:lock", "a worker that crashed", time.Minute).Err())
	first, err := newDedupLockGetSet(r).First(ctx, "m", time.Minute)
	require.NoError(t, err)
	require.False(t, first)
	require.Equal(t, 2*dedupLockPause, slept)
	require.Zero(t, r.Exists(ctx, "m").Val(), "marked without the lock")

	end(t, r, "m:lock")
	require.True(t, isFirst(t, newDedupLockGetSet(r), "m"))
	require.Zero(t, r.Exists(ctx, "m:lock").Val(), "the lock was not released")
}

func TestAMarkWithoutAReplicaIsAnErrorAndStays(t *testing.T) {
	_, r := realRedis(t)
	f := newDedupSetNXEXWait(waitFor(1))(r)
	_, err := f.First(t.Context(), "m", time.Minute)
	require.ErrorIs(t, err, errFewAcks)
	require.InDelta(t, time.Minute, r.TTL(t.Context(), "m").Val(), float64(time.Second))
	require.False(t, isFirst(t, f, "m"), "seen is seen, replicated or not")
}

func TestLeasesAreFullMilliseconds(t *testing.T) {
	require.Equal(t, 5*time.Second, dedupLease(20*time.Second))
	require.Equal(t, 2*time.Millisecond, dedupLease(10*time.Millisecond), "what PX would make of 2.5 ms")
	require.Equal(t, time.Millisecond, dedupLease(time.Millisecond))
}

func TestAWorkerDeliversWhatItIsTheFirstToClaim(t *testing.T) {
	const window = 20 * time.Second
	ctx := t.Context()
	_, r := realRedis(t)
	step := func(f Deduper, id string) []harness.Op {
		p := &lockTime{}
		c := &dedupClient{filter: f, window: window}
		s := p.session(0)
		c.claim(ctx, s, id)
		c.deliver(s, id)
		c.confirm(ctx, s, id)
		return p.ops
	}
	claim := harness.Op{Kind: harness.Claim, Key: "plain", TTL: window, Result: harness.ResultFirst,
		Outcome: harness.OK}
	deliver := harness.Op{Kind: harness.Deliver, Key: "plain", Outcome: harness.OK}
	require.Equal(t, []harness.Op{claim, deliver}, step(newDedupSetNXEX(r), "plain"))

	claim.Key, deliver.Key = "m", "m"
	claim.TTL = window / 4
	confirm := harness.Op{Kind: harness.Confirm, Key: "m", TTL: window, Outcome: harness.OK}
	require.Equal(t, []harness.Op{claim, deliver, confirm}, step(newDedupClaimConfirm(r), "m"))
	claim.Result = harness.ResultSeen
	confirm.Outcome, confirm.Err = harness.Fail, harness.NotMine
	require.Equal(t, []harness.Op{claim, deliver, confirm}, step(newDedupClaimConfirm(r), "m"))
}
