package workloads

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestTheHarnessAsksForWhatWasClaimedAndNotDeliveredAndForTheLatest(t *testing.T) {
	d := Dedups(nil, Options{FanOut: 2}, newDedupSetNXEX).(*dedups)
	require.Empty(t, d.messagesToAsk(0))
	for number := range int64(2 * mostProbed) {
		d.claimed.add(number)
	}
	d.claimed.add(3)
	for number := range int64(mostProbed) {
		d.claimed.remove(number + 10)
	}
	require.Len(t, d.messagesToAsk(0), mostProbed, "those that were claimed, bounded")
	require.EqualValues(t, 1010, d.messagesToAsk(0)[10], "the latest of them")

	d.claimed = undelivered{}
	d.claimed.add(3)
	d.delivered.Store(2*5000 + 1) // the first delivery of message 5000
	all := d.messagesToAsk(0)
	require.EqualValues(t, 3, all[0])
	require.EqualValues(t, 4001, all[1])
	require.EqualValues(t, 5000, all[len(all)-1])
	require.Len(t, all, 1+mostProbed)
	d.claimed.add(4500)
	require.Equal(t, all, d.messagesToAsk(0), "asked for twice")
}

// finished calls Finish after the given number of deliveries, and lists the operations that Finish recorded.
func finished(t *testing.T, w harness.Workload, deliveries int64) []harness.Op {
	t.Helper()
	d, timeline := w.(*dedups), &lockTime{}
	d.delivered.Store(deliveries)
	require.NoError(t, d.Finish(t.Context(), timeline.session(harness.HarnessClient)))
	return timeline.ops
}

func TestTheHarnessLooksAtMarksAndClaims(t *testing.T) {
	ctx := t.Context()
	c, r := realRedis(t)
	require.NoError(t, r.Set(ctx, "msg-0", "1", 0).Err())
	require.NoError(t, r.Set(ctx, "msg-1", "1", time.Minute).Err())
	ops := finished(t, Dedups(c, Options{FanOut: 1, TTL: time.Minute}, newDedupSetNXEX), 3)
	require.Equal(t, []string{
		"inspect msg-0  marked ok ", "claim msg-0  seen ok ",
		"inspect msg-1  marked ok ", "claim msg-1  seen ok ",
		"inspect msg-2   ok ", "claim msg-2  first ok ",
	}, lines(ops))
	require.Zero(t, ops[0].TTL)
	require.InDelta(t, time.Minute, ops[2].TTL, float64(time.Second))
	for _, op := range ops {
		require.Equal(t, harness.HarnessClient, op.Client)
	}
}

func TestTheHarnessLooksOnlyAtMarksThatFiltersShow(t *testing.T) {
	for _, v := range dedupVariants() {
		require.Implements(t, (*Inspector)(nil), v.newDeduper(nil), v.ID)
	}
	c, _ := realRedis(t)
	w := Dedups(c, Options{FanOut: 1}, func(r redis.UniversalClient) Deduper { return yours{newDedupSetNXEX(r)} })
	require.Equal(t, []string{"claim msg-0  first ok "}, lines(finished(t, w, 1)))
}

// yours is a user's filter that does not show its marks.
type yours struct{ Deduper }

// shown is a user's filter that shows its marks by Inspect.
type shown struct {
	yours
	left time.Duration
	err  error
}

func (f shown) Inspect(context.Context, string) (bool, time.Duration, error) {
	return f.err == nil, f.left, f.err
}

func TestTheHarnessLooksAtMarksOfAnUnknownFilter(t *testing.T) {
	for _, f := range []shown{{left: time.Second}, {err: context.Canceled}} {
		c, _ := realRedis(t)
		ops := finished(t, Dedups(c, Options{FanOut: 1}, func(r redis.UniversalClient) Deduper {
			f.Deduper = newDedupSetNXEX(r)
			return f
		}), 1)
		require.Equal(t, []string{"claim msg-0  first ok "}, lines(ops[1:]))
		require.Equal(t, harness.Inspect, ops[0].Kind)
		require.Equal(t, f.left, ops[0].TTL)
		require.Equal(t, f.err == nil, ops[0].Outcome == harness.OK)
	}
}

func TestTheHarnessAsksWhenTheLeasesAreOver(t *testing.T) {
	c, _ := realRedis(t)
	asked := func(window time.Duration, newDeduper func(redis.UniversalClient) Deduper) []harness.Op {
		return finished(t, Dedups(c, Options{FanOut: 1, TTL: window}, newDeduper), 1)
	}
	require.Greater(t, asked(4*time.Second, newDedupClaimConfirm)[0].Call, 1050*time.Millisecond)
	require.Empty(t, asked(time.Hour, newDedupClaimConfirm), "a quarter of an hour is too long to wait")
	require.Len(t, asked(time.Hour, newDedupSetNXEX), 2)
}

func TestTheErrorsOfFinalQuestionsAreRecorded(t *testing.T) {
	c, _ := realRedis(t)
	require.NoError(t, c.Kill("r1"))
	ops := finished(t, Dedups(c, Options{FanOut: 1}, newDedupSetNXEX), 1)
	require.Len(t, ops, 4, "a look, and claims as long as there is no answer")
	for _, op := range ops {
		require.Equal(t, harness.Fail, op.Outcome)
		require.NotEmpty(t, op.Err)
	}
}

// answering is a filter with preset answers.
type answering struct {
	first bool
	err   error
}

func (a answering) First(context.Context, string, time.Duration) (bool, error) { return a.first, a.err }

func TestAMessageIsRememberedUntilItIsDelivered(t *testing.T) {
	for name, c := range map[string]struct {
		answer answering
		left   int
	}{
		"delivered": {answering{first: true}, 0}, "seen": {answering{}, 0},
		"not answered": {answering{err: errors.New("timeout")}, 1},
	} {
		d := Dedups(nil, Options{}, nil).(*dedups)
		client := &dedupClient{filter: c.answer, window: time.Second, load: d}
		client.Step(t.Context(), (&lockTime{}).session(0))
		require.Len(t, d.claimed.latest(10), c.left, name)
	}
	d := Dedups(nil, Options{}, nil).(*dedups)
	client := &dedupClient{filter: answering{first: true}, window: time.Second, load: d}
	require.Panics(t, func() { client.Step(t.Context(), harness.NewSession(&mortal{}, 0, 1, 0, newRand())) })
	require.Len(t, d.claimed.latest(10), 1, "claimed by a client that crashed before it delivered")
}

// mortal is the Timeline of a client that crashes after its claim and before it delivers.
type mortal struct {
	lockTime
	looks int
}

func (m *mortal) Now() time.Duration {
	if m.looks++; m.looks == 3 {
		panic("crashed")
	}
	return 0
}
