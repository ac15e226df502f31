package workloads

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// This file tests that every lock keeps its contract on a real Redis. harness/results shows the flaws that a search
// finds.

// eachLock runs f for every lock of the catalogue, on a Redis with the replicas that it waits for.
func eachLock(t *testing.T, f func(t *testing.T, v Variant, r redis.UniversalClient)) {
	_, alone := realRedis(t)
	replicated := realSentinel(t)
	for _, v := range lockVariants() {
		v = patientWait(v)
		if v.newQuorum != nil { // of one master, which is a majority
			newQuorum := patient(v.newQuorum)
			v.newLocker = func(r redis.UniversalClient) Locker { return newQuorum([]redis.UniversalClient{r}) }
		}
		t.Run(v.ID, func(t *testing.T) {
			if v.Acks > 0 {
				f(t, v, replicated)
				return
			}
			f(t, v, alone)
		})
	}
}

// lockTTL is long because quorum locks wait for Redis for only a twentieth of it, and the machine may be slow.
const lockTTL = 20 * time.Second

// acquired tries the lock by the machine's clock, but without the lock's sleeps.
func acquired(t *testing.T, l Locker, key, owner string) bool {
	t.Helper()
	return acquiredAt(t, ahead(t.Context(), 0), l, key, owner)
}

func acquiredAt(t *testing.T, ctx context.Context, l Locker, key, owner string) bool {
	t.Helper()
	// without sleep its watchdog would take the lock again at once, as documented
	if _, ok := l.(*watchdogRearmsLock); ok {
		ctx = t.Context()
	}
	ok, err := l.Acquire(ctx, key, owner, lockTTL)
	require.NoError(t, err)
	return ok
}

func released(t *testing.T, l Locker, key, owner string) bool {
	t.Helper()
	ok, err := l.Release(t.Context(), key, owner)
	require.NoError(t, err)
	return ok
}

func extended(t *testing.T, l Locker, key, owner string) bool {
	t.Helper()
	ok, err := l.(Extender).Extend(t.Context(), key, owner, lockTTL)
	require.NoError(t, err)
	return ok
}

// isWhole requires that left fits a lease of lockTTL that began no earlier than then. The machine may have been busy
// since.
func isWhole(t *testing.T, left time.Duration, then time.Time) {
	t.Helper()
	require.LessOrEqual(t, left, lockTTL)
	require.GreaterOrEqual(t, left, lockTTL-time.Since(then)-10*time.Millisecond,
		"10 ms are for clocks of milliseconds")
}

// withoutTTL lists the locks that leave Redis without a TTL, goneUnnoticed those whose release cannot tell its own lock
// from one that was gone, and waitsForLease those that wait in Redis until a lease has ended.
var (
	withoutTTL    = []string{"lock/setnx", "lock/getset-deadline", "lock/blpop-signal"}
	goneUnnoticed = []string{"lock/lua-constant", "lock/lua-owner"}
	waitsForLease = []string{"lock/blpop-signal-lease"}
)

func TestEveryLockKeepsItsContractAlone(t *testing.T) {
	eachLock(t, func(t *testing.T, v Variant, r redis.UniversalClient) {
		a, b := v.newLocker(r), v.newLocker(r)
		began := time.Now()
		require.True(t, acquired(t, a, v.ID, "a"))
		if slices.Contains(withoutTTL, v.ID) {
			require.Equal(t, time.Duration(-1), r.PTTL(t.Context(), v.ID).Val())
		} else {
			isWhole(t, r.PTTL(t.Context(), v.ID).Val(), began)
		}
		if !slices.Contains(waitsForLease, v.ID) {
			require.False(t, acquired(t, b, v.ID, "b"), "granted twice")
		}
		require.True(t, released(t, a, v.ID, "a"))
		require.Equal(t, slices.Contains(goneUnnoticed, v.ID), released(t, a, v.ID, "a"), "released twice")
		require.True(t, acquired(t, b, v.ID, "b"), "not free after its release")
	})
}

// endLease ends the lease of key, and returns a context whose clock shows a later time.
func endLease(t *testing.T, r redis.UniversalClient, key string) context.Context {
	t.Helper()
	if r.PTTL(t.Context(), key).Val() > 0 {
		require.NoError(t, r.Del(t.Context(), key).Err())
	}
	return ahead(t.Context(), time.Minute)
}

func TestALateReleaseHarmsTheNextOwnerOnlyWhereDocumented(t *testing.T) {
	eachLock(t, func(t *testing.T, v Variant, r redis.UniversalClient) {
		late, next, third := v.newLocker(r), v.newLocker(r), v.newLocker(r)
		require.True(t, acquired(t, late, v.ID, "late"))
		after := endLease(t, r, v.ID)
		if !acquiredAt(t, after, next, v.ID, "next") {
			require.Contains(t, v.Flaws, Flaw{harness.StuckLock, Crash})
			return // its lease has no end, so nobody is late
		}
		mine := released(t, late, v.ID, "late")
		if slices.Contains(waitsForLease, v.ID) {
			require.Equal(t, "next", r.Get(t.Context(), v.ID).Val())
			return
		}
		stolen := acquiredAt(t, after, third, v.ID, "third")
		require.Equal(t, slices.Contains(v.Flaws, Flaw{harness.StolenRelease, LateRelease}), stolen)
		require.Equal(t, slices.Contains(v.Flaws, Flaw{harness.DoubleGrant, LateRelease}), stolen)
		require.Equal(t, stolen, mine, "the answer of the late release")
	})
}

func TestEveryExtenderRenewsItsOwnLockOnly(t *testing.T) {
	extenders := 0
	eachLock(t, func(t *testing.T, v Variant, r redis.UniversalClient) {
		a, b := v.newLocker(r), v.newLocker(r)
		if _, ok := a.(Extender); !ok {
			t.SkipNow()
		}
		extenders++
		require.True(t, acquired(t, a, v.ID, "a"))
		require.NoError(t, r.PExpire(t.Context(), v.ID, lockTTL/2).Err())
		began := time.Now()
		require.True(t, extended(t, a, v.ID, "a"))
		isWhole(t, r.PTTL(t.Context(), v.ID).Val(), began)
		require.False(t, extended(t, b, v.ID, "b"))
		endLease(t, r, v.ID)
		require.False(t, extended(t, a, v.ID, "a"), "the lease was over")
		require.True(t, acquired(t, b, v.ID, "b"))
		require.False(t, extended(t, a, v.ID, "a"), "it is another's")
	})
	require.Equal(t, 8, extenders)
}

// errCrash is what a command returns at which the client has to crash.
var errCrash = errors.New("crashed")

func TestScriptsThatAnswerWithBooleansAreReadUnderBothProtocols(t *testing.T) {
	_, r := realRedis(t)
	for i, p := range bothProtocols(t, r) {
		for script, want := range map[string]bool{
			"return true": true, "return false": false, "redis.setresp(3) return true": true,
			"redis.setresp(3) return false":   false,
			"return redis.status_reply('OK')": true, "return 2": false, "return 'faild'": false,
		} {
			got, err := saysYes(p.Eval(t.Context(), script, nil))
			require.NoError(t, err, script)
			require.Equal(t, want, got, "%s under RESP%d", script, 2+i)
		}
	}
}

func TestFencingTokensGrow(t *testing.T) {
	_, r := realRedis(t)
	l := newFenced(r)
	for _, want := range []string{"1", "2", "3"} {
		require.True(t, acquired(t, l, "k", "a"))
		require.Equal(t, want, l.(Fencer).Fence())
		require.False(t, acquired(t, newFenced(r), "k", "b"), "a refusal takes a token")
		require.True(t, released(t, l, "k", "a"))
	}
}

func TestALockWithoutAcknowledgementIsGivenBack(t *testing.T) {
	c, r := realRedis(t)
	lone := &lockClient{lock: newSetNXPXWait(waitFor(1))(r), opts: Options{TTL: lockTTL}}
	op := lone.acquire(t.Context(), (&lockTime{}).session(0), "k", "a")
	require.Equal(t, harness.Fail, op.Outcome, "there is no replica")
	require.Equal(t, "given back", op.Err, "nobody else has it")
	require.Zero(t, r.Exists(t.Context(), "k").Val())

	o := other(t, c)
	var inRelease func() error
	r.AddHook(before("evalsha", func() error { return inRelease() }))
	inRelease = func() error { return o.Del(t.Context(), "k").Err() }
	_, err := newSetNXPXWait(waitFor(1))(r).Acquire(t.Context(), "k", "a", lockTTL)
	require.ErrorIs(t, err, errGone)
	inRelease = func() error { return errCrash }
	_, err = newSetNXPXWait(waitFor(1))(r).Acquire(t.Context(), "k", "a", lockTTL)
	require.ErrorIs(t, err, errCrash)
	require.Equal(t, int64(1), o.Exists(t.Context(), "k").Val())
	require.False(t, acquired(t, newSetNXPXWait(waitFor(1))(r), "k", "b"), "it is a's")
}
