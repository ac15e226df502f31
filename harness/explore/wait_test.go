package explore

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// waitSpec returns a Spec of clients that wait: one part in which nothing goes wrong.
func waitSpec(clients ...client) Spec {
	s := quiet(program(clients...))
	s.Clients = len(clients)
	return s
}

// deadlocked runs a search that has to find exactly a deadlock, and returns it.
func deadlocked(t *testing.T, spec Spec) interleave.Counterexample {
	t.Helper()
	res := resultOf(t, spec)
	require.Len(t, res.Counterexamples, 1)
	require.Equal(t, harness.Deadlock, res.Counterexamples[0].Anomaly.Class)
	require.NoError(t, Replay(t.Context(), spec, res.Counterexamples[0], 3))
	return res.Counterexamples[0]
}

// everyResult returns the results of all operations in all schedules.
func everyResult(t *testing.T, s Spec) map[string]bool {
	c, seen := &collector{}, map[string]bool{}
	s.Checkers = []harness.Checker{c}
	res := searched(t, s)
	require.Len(t, c.histories, res.Schedules)
	for _, ops := range c.histories {
		for _, r := range results(ops) {
			seen[r] = true
		}
	}
	return seen
}

// A client that waits in Redis goes on when another client wakes it or its time-out passes. If neither can happen, that
// is a deadlock. Every blocking command is tried.
func TestCommandsThatWait(t *testing.T) {
	s := newScheduler(t, waitSpec(idle, idle))
	everyHistoryHas := func(result string, clients ...client) {
		c := &collector{}
		spec := waitSpec(clients...)
		spec.Checkers = []harness.Checker{c}
		require.Empty(t, s.until(t.Context(), spec).stopped)
		for _, ops := range c.histories {
			require.Contains(t, results(ops), result)
		}
	}
	for _, c := range []struct{ waits, wakes, within, answer, none string }{
		{"BLPOP q 0", "LPUSH q x", "BLPOP q 20", "[q x]", "(nil)"},
		{"BRPOP q 0", "RPUSH q x", "BRPOP q 0.5", "[q x]", "(nil)"},
		{"BLMOVE q other LEFT RIGHT 0", "RPUSH q x", "BLMOVE q other LEFT RIGHT 3", "x", "(nil)"},
		{"BRPOPLPUSH q other 0", "RPUSH q x", "BRPOPLPUSH q other 3", "x", "(nil)"},
		{"BLMPOP 0 2 p q LEFT", "RPUSH q x", "BLMPOP 3 2 p q LEFT", "[q [x]]", "(nil)"},
		{"BZPOPMIN q 0", "ZADD q 1 x", "BZPOPMIN q 3", "[q x 1]", "(nil)"},
		{"BZPOPMAX q 0", "ZADD q 1 x", "BZPOPMAX q 3", "[q x 1]", "(nil)"},
		{"XREAD BLOCK 0 STREAMS q 0", "XADD q 1-1 f v", "XREAD BLOCK 3000 STREAMS q 0", "[[q [[1-1 [f v]]]]]", "(nil)"},
	} {
		everyHistoryHas("1: "+c.waits+" = "+c.answer, together(c.waits), together(c.wakes))
		everyHistoryHas("1: "+c.within+" = "+c.none, together(c.within), together("GET other-key"))
		found := s.until(t.Context(), waitSpec(together(c.waits), together("GET other-key"))).seen.Counterexamples
		require.Len(t, found, 1)
		require.Contains(t, found, harness.Deadlock)
	}
	found := deadlocked(t, waitSpec(together("BLPOP q 0"), together("GET other-key")))
	require.Regexp(t, "client 1  BLPOP q 0 +\\(waits\\)", found.Text())
}

// subscribesAndLooks returns a client with one operation. It subscribes, waits for the confirmation if careful is true,
// reads key, and waits for a message if key is not there.
func subscribesAndLooks(careful bool) client {
	return does("wait", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		sub := r.Subscribe(ctx, "done")
		defer func() { _ = sub.Close() }()
		if careful {
			if _, err := sub.Receive(ctx); err != nil {
				return "", err
			}
		}
		if n, err := r.Exists(ctx, "key").Result(); err != nil || n > 0 {
			return "there", err
		}
		for {
			m, err := sub.Receive(ctx)
			if m, ok := m.(*redis.Message); ok {
				return m.Payload, err
			}
			if err != nil {
				return "", err
			}
		}
	})
}

// A client that waits for a message has to be subscribed before it checks whether it has to wait.
func TestRacedSubscriptions(t *testing.T) {
	tells := together("SET key 1", "PUBLISH done now")
	require.Empty(t, searched(t, waitSpec(subscribesAndLooks(true), tells)).Counterexamples)
	seen := everyResult(t, waitSpec(subscribesAndLooks(true), tells))
	require.True(t, seen["1: wait = there"] && seen["1: wait = now"], "%v", seen)

	found := deadlocked(t, waitSpec(subscribesAndLooks(false), tells))
	require.Contains(t, found.Anomaly.Note, "client 1 waits for ever for a message on done")

	early := together("PUBLISH done now", "SET key 1") // the message comes before the key is set
	deadlocked(t, waitSpec(subscribesAndLooks(true), early))
}

// A goroutine of harness.Go takes its steps between those of its client, and its client may wait for its end.
func TestRacedThreads(t *testing.T) {
	parent := does("both", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		wait := harness.Go(ctx, func(ctx context.Context) { _, _ = say(ctx, r, "SET k thread") })
		if _, err := say(ctx, r, "SET k parent"); err != nil {
			return "", err
		}
		wait()
		return say(ctx, r, "GET k")
	})
	require.Equal(t, map[string]bool{"1: both = thread": true, "1: both = parent": true},
		everyResult(t, waitSpec(parent, idle)))
}

// A watchdog that outlives its client still acts when time passes at the end of the schedule.
func TestAThreadThatOutlivesItsClient(t *testing.T) {
	renews := does("lock", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		harness.Go(ctx, func(ctx context.Context) {
			for harness.Sleep(ctx, lease/3) == nil && r.Set(ctx, "lock", "mine", lease).Err() == nil {
			}
		})
		return say(ctx, r, "SET lock mine EX 10")
	})
	spec := waitSpec(renews, idle)
	left := map[int]bool{}
	spec.Program.Finally = func(_ context.Context, _ *harness.Session, _ redis.UniversalClient,
		after interleave.After) error {
		n, err := after.PassAll(2 * lease)
		left[n] = true
		return err
	}
	spec.Crashes = 1
	searched(t, spec)
	require.Equal(t, map[int]bool{0: true, 1: true}, left, "a crash ends the watchdog, its client's end does not")
}
