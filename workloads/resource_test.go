package workloads

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestAResourceRefusesTokensOlderThanItHasSeen(t *testing.T) {
	var r guardedResource
	stale, ok := r.read("a", "9")
	require.True(t, ok)
	fresh, ok := r.read("a", "10") // from here on the other owner is too late, although nobody has written yet
	require.True(t, ok)
	require.False(t, r.write("a", "9", &guardedUpdate{0, stale}))
	require.True(t, r.write("a", "10", &guardedUpdate{1, fresh}))
	_, ok = r.read("a", "9")
	require.False(t, ok)
	require.True(t, r.write("a", "010", &guardedUpdate{2, nil}), "the same owner, again")
	require.Equal(t, []int64{2}, r.numbers("a"))
	_, ok = r.read("b", "1")
	require.True(t, ok, "another lock's tokens")
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1", "2", true}, {"2", "1", false}, {"2", "2", false}, {"9", "10", true}, {"10", "9", false},
		{"09", "9", false},
		{"9007199254740992", "9007199254740993", true}, {"1", "", false}, {"0", "", false},
	} {
		require.Equal(t, c.want, isOlder(c.a, c.b), "%s, %s", c.a, c.b)
	}
}

// meanwhile is the Timeline of a worker. In the worker's first sleep it calls happens.
type meanwhile struct {
	lockTime
	happens func()
}

func (m *meanwhile) Sleep(d time.Duration) bool {
	if h := m.happens; h != nil {
		m.happens = nil
		h()
	}
	return m.lockTime.Sleep(d)
}

// updating returns a client of the guarded resource, and its Timeline.
func updating(r *guardedResource, lock Locker) (*lockClient, *meanwhile) {
	opts := Options{Keys: 1, TTL: 3 * time.Second, Resource: true}
	keys := theLock(opts.TTL)
	keys[lockKey(0)].lateDue = time.Hour // seldom late
	return &lockClient{lock: lock, opts: opts, resource: r, keys: keys}, &meanwhile{}
}

func lines(ops []harness.Op) (out []string) {
	for _, op := range ops {
		out = append(out, strings.Join([]string{string(op.Kind), op.Key, op.Arg, op.Result, op.Outcome.String(),
			op.Err}, " "))
	}
	return out
}

func TestAnOwnerUpdatesWhatTheLockGuards(t *testing.T) {
	var r guardedResource
	c, timeline := updating(&r, unextended)
	s := harness.NewSession(timeline, 0, 1, 0, newRand())
	c.Step(t.Context(), s)
	c.Step(t.Context(), s)
	require.Equal(t, []string{
		"acquire lock-0 client-0-1-owner  ok ", "add lock-0:resource 0 client-0-1-owner ok ",
		"release lock-0 client-0-1-owner  ok ",
		"acquire lock-0 client-0-2-owner  ok ", "add lock-0:resource 1 client-0-2-owner ok ",
		"release lock-0 client-0-2-owner  ok ",
	}, lines(timeline.ops))
	for i, op := range timeline.ops {
		if op.Kind == harness.Add {
			require.Greater(t, op.Call, timeline.ops[i-1].Return, "no time to think")
			require.Less(t, op.Call-timeline.ops[i-1].Return, 3*time.Second/4)
		}
	}
	r.readAll(s, "lock-0")
	read := timeline.ops[len(timeline.ops)-1]
	require.Equal(t, "read lock-0:resource  0-1 ok ", lines([]harness.Op{read})[0])
}

func TestAnOwnerThatIsOvertakenBetweenItsReadAndItsWrite(t *testing.T) {
	for _, c := range []struct {
		slow, next Locker
		want       []int64
		add        string
	}{
		{unextended, unextended, []int64{1}, "add lock-0:resource 1 client-0-1-owner ok "},
		{obliging{token: "1"}, obliging{token: "2"}, []int64{0},
			"add lock-0:resource 1 client-0-1-owner fail " + tokenTooOld},
	} {
		var r guardedResource
		slow, slowly := updating(&r, c.slow)
		next, later := updating(&r, c.next)
		slowly.happens = func() { next.Step(t.Context(), harness.NewSession(later, 1, 2, 0, newRand())) }
		slow.Step(t.Context(), harness.NewSession(slowly, 0, 2, 0, newRand()))
		require.Equal(t, c.add, lines(slowly.ops)[1])
		require.Equal(t, c.want, r.numbers("lock-0"))
	}
}

func TestGuardingLocksPromiseUpdatesAndReadThemInTheEnd(t *testing.T) {
	c, _ := realRedis(t)
	v, err := Find("lock/fenced")
	require.NoError(t, err)
	w := v.Workload(c, Options{Keys: 2, TTL: 100 * time.Millisecond, Resource: true})
	require.Equal(t, []harness.Kind{harness.Acquire, harness.Release, harness.Add, harness.Read}, w.Kinds())
	require.Equal(t, []harness.Kind{harness.Acquire, harness.Release}, v.Workload(c, Options{}).Kinds())
	client, err := w.Open(t.Context(), 0)
	require.NoError(t, err)
	timeline := &lockTime{}
	for range 5 {
		client.Step(t.Context(), timeline.session(0))
	}
	require.NoError(t, w.(harness.Finisher).Finish(t.Context(), timeline.session(harness.HarnessClient)))
	read := ""
	for _, op := range timeline.ops {
		require.NotEqual(t, harness.Info, op.Outcome, "%+v", op)
		switch op.Kind {
		case harness.Add:
			require.Equal(t, harness.OK, op.Outcome, op.Err)
		case harness.Read:
			require.Equal(t, harness.HarnessClient, op.Client)
			read += op.Result
		}
	}
	require.Equal(t, 2, timeline.count(harness.Read))
	require.NotEmpty(t, read, "what the owners added")
}
