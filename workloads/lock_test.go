package workloads

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestEveryLockDeclaresWhatFitsItsClaim(t *testing.T) {
	for _, v := range lockVariants() {
		require.Regexp(t, "^(lock|lib)/", v.ID)
		require.Equal(t, v.newQuorum == nil, v.Masters == 0, v.ID)
		require.Equal(t, v.Claim == MinorityMayFail, v.Masters > 0, v.ID)
		require.Contains(t, v.Under(NodeRestart), harness.DoubleGrant, v.ID)
		if v.Masters == 0 {
			require.Contains(t, v.Flaws, Flaw{harness.DoubleGrant, Failover}, v.ID)
		}
		for i, f := range v.Flaws {
			require.NotContains(t, v.Flaws[i+1:], f, v.ID)
			// an owner may be told something wrong, but there is only one
			excludes := f.Class == harness.SilentReacquire || f.Class == harness.RefusedRelease
			require.True(t, v.Claim != OneNode || f.When == Failover ||
				excludes, "%s claims to be safe on one node", v.ID)
		}
	}
}

// ahead returns ctx with a clock that is ahead by d.
func ahead(ctx context.Context, d time.Duration) context.Context {
	return harness.WithTime(ctx, aheadClock{d})
}

type aheadClock struct{ by time.Duration }

func (c aheadClock) Now() time.Time                           { return time.Now().Add(c.by) }
func (aheadClock) Sleep(context.Context, time.Duration) error { return nil }

// lockTime is the timeline of a run in which time passes only when the worker sleeps.
type lockTime struct {
	now time.Duration
	ops []harness.Op
}

func (l *lockTime) Now() time.Duration { return l.now }

func (l *lockTime) Record(op *harness.Op) {
	op.Return = l.now
	l.ops = append(l.ops, *op)
}

func (l *lockTime) Sleep(d time.Duration) bool {
	l.now += max(0, d)
	return true
}

func (l *lockTime) session(client int) *harness.Session {
	return harness.NewSession(l, client, 1, 0, newRand())
}

func (l *lockTime) count(k harness.Kind) (n int) {
	for _, op := range l.ops {
		if op.Kind == k {
			n++
		}
	}
	return n
}

// obliging is a Locker that grants everything. If lost is true it grants acquires only.
type obliging struct {
	lost  bool
	token string
}

func (obliging) Acquire(context.Context, string, string, time.Duration) (bool, error) {
	return true, nil
}
func (o obliging) Extend(context.Context, string, string, time.Duration) (bool, error) {
	return !o.lost, nil
}
func (o obliging) Release(context.Context, string, string) (bool, error) { return !o.lost, nil }
func (o obliging) Fence() string                                         { return o.token }

func TestAFencersTokenIsTheResultOfItsGrant(t *testing.T) {
	timeline := &lockTime{}
	c := &lockClient{lock: obliging{token: "7"}, opts: Options{TTL: time.Second, Keys: 1}}
	require.Equal(t, "7", c.acquire(t.Context(), timeline.session(0), "k", "a").Result)
}

func TestFinishFindsTheLockThatIsStuck(t *testing.T) {
	c, r := realRedis(t)
	w := Locks(c, Options{Keys: 3, TTL: 500 * time.Millisecond}, newSetnx)
	require.NoError(t, r.Set(t.Context(), "lock-1", "crashed", 0).Err())
	timeline := &lockTime{}
	require.NoError(t, w.(harness.Finisher).Finish(t.Context(), timeline.session(harness.HarnessClient)))

	lines := make([]string, 0, len(timeline.ops))
	for _, op := range timeline.ops {
		require.Equal(t, harness.HarnessClient, op.Client)
		require.Greater(t, op.Call, time.Second, "before the end of a lease that was rounded up to a second")
		lines = append(lines, strings.Join([]string{string(op.Kind), op.Key, op.Outcome.String(), op.Err}, " "))
	}
	require.Equal(t, []string{
		"acquire lock-0 ok ", "release lock-0 ok ",
		// a refusal may repair a lock
		"acquire lock-1 fail held", "acquire lock-1 fail held", "acquire lock-1 fail held",
		"acquire lock-2 ok ", "release lock-2 ok ",
	}, lines)
}

func TestTheErrorsOfFinalTriesAreRecorded(t *testing.T) {
	c, _ := realRedis(t)
	w := Locks(c, Options{Keys: 1}, newSetNXPX)
	require.NoError(t, c.Kill("r1"))
	timeline := &lockTime{}
	require.NoError(t, w.(harness.Finisher).Finish(t.Context(), timeline.session(harness.HarnessClient)))
	require.Len(t, timeline.ops, 3, "tries, as long as there is no answer")
	for _, op := range timeline.ops {
		require.Equal(t, harness.Fail, op.Outcome)
		require.NotEqual(t, harness.Held, op.Err)
	}
}
