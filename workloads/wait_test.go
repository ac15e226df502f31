package workloads

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// waiters lists the variants of the catalogue that wait for replicas.
func waiters() (all []Variant) {
	for _, v := range Catalogue() {
		if v.Acks > 0 {
			all = append(all, v)
		}
	}
	return all
}

func TestEveryVariantWithAWaitTakesTheNumberOfReplicas(t *testing.T) {
	all := waiters()
	require.Len(t, all, 4)
	for _, v := range all {
		require.Equal(t, 1, v.Acks, v.ID)
		two, ok := v.Waiting(2)
		require.True(t, ok, v.ID)
		require.Equal(t, v.ID, two.ID)
		require.Equal(t, 2, two.Acks, v.ID)
		require.Contains(t, two.Doc, "WAIT 2", v.ID)
		require.Contains(t, v.Doc, "WAIT 1", v.ID)
		same, ok := v.Waiting(0)
		require.False(t, ok, v.ID)
		require.Equal(t, v.ID+v.Doc, same.ID+same.Doc)
	}
	_, ok := setNXPX().Waiting(2)
	require.False(t, ok)
}

func TestTheOptionReachesRedis(t *testing.T) {
	c, r := realRedis(t)
	var seen []any
	r.AddHook(spy(func(_ context.Context, cmds ...redis.Cmder) error {
		for _, c := range cmds {
			if c.Name() == "wait" {
				seen = append(seen, c.Args()[1])
			}
		}
		return nil
	}))
	for _, v := range waiters() {
		for acks, want := range map[int]int{0: 1, 2: 2} {
			client, err := v.Workload(c, Options{Acks: acks}).Open(t.Context(), 0)
			require.NoError(t, err)
			require.NoError(t, r.FlushAll(t.Context()).Err())
			seen = nil
			p := &lockTime{}
			client.Step(t.Context(), p.session(0))
			require.Equal(t, []any{want}, seen, v.ID)
			require.NotEqual(t, harness.OK, p.ops[0].Outcome, "%s: there is no replica", v.ID)
		}
	}
}

// settledAdd adds an integer with a WAIT, by a traced client.
func settledAdd(t *testing.T, r redis.UniversalClient, acks int, n int64) harness.Op {
	t.Helper()
	return add(t.Context(), (&lockTime{}).session(0), r, waitFor(acks), "set", n)
}

func TestAWriteThatTooFewReplicasHaveIsUnknown(t *testing.T) {
	r := realSentinel(t)
	r.AddHook(tracer{})
	for acks := range 3 {
		require.Eventually(t, func() bool { return settledAdd(t, r, acks, int64(acks)).Outcome == harness.OK },
			time.Minute, time.Millisecond, "%d replicas never had it", acks)
	}
	op := settledAdd(t, r, 3, 7)
	require.Equal(t, harness.Info, op.Outcome, "there are two")
	require.Equal(t, errFewAcks.Error(), op.Err)
	require.True(t, r.SIsMember(t.Context(), "set", 7).Val(), "the write has happened all the same")

	require.NoError(t, r.Do(t.Context(), "CONFIG", "SET", "min-replicas-to-write", "3").Err())
	op = settledAdd(t, r, 1, 8)
	require.Equal(t, harness.Fail, op.Outcome, "a WAIT that was answered writes nothing: %s", op.Err)
	require.Equal(t, "NOREPLICAS", op.Err)
}

func TestWritesWithAWaitAreReadInTheEnd(t *testing.T) {
	c, r := realRedis(t)
	w := saddWait(1).Workload(c, Options{})
	client, err := w.Open(t.Context(), 0)
	require.NoError(t, err)
	p := &lockTime{}
	s := p.session(0)
	client.Step(t.Context(), s)
	client.Step(t.Context(), s)
	require.NoError(t, w.(harness.Finisher).Finish(t.Context(), s))
	require.Len(t, p.ops, 3)
	require.Equal(t, harness.Info, p.ops[0].Outcome)
	require.Equal(t, "0-1", p.ops[2].Result)
	require.Equal(t, p.ops[0].Key, p.ops[2].Key)
	require.NotEqual(t, saddVariant().Workload(c, Options{}).(*sadd).key, p.ops[0].Key, "the two may ride together")
	require.Equal(t, int64(2), r.SCard(t.Context(), p.ops[0].Key).Val())
}

func TestWhatALostKeyDoes(t *testing.T) {
	double, again := []harness.Class{harness.DoubleGrant}, []harness.Class{harness.DuplicateDelivery}
	restarted := []harness.Class{harness.DuplicateNumber, harness.Regression, harness.SequenceRestart}
	for id, want := range map[string]map[Condition][]harness.Class{
		"lock/set-nx-px":  {Failover: double, NodeRestart: double, MemoryEvicts: double, NodeClock: double, Race: nil},
		"lock/fenced":     {NodeRestart: {harness.DoubleGrant, harness.FenceRegression}, NodeClock: double, Crash: nil},
		"dedup/set-nx-ex": {NodeRestart: again, NodeClock: again, Crash: {harness.LostMessage}},
		"sequence/incr":   {NodeRestart: restarted, MemoryEvicts: nil, NodeClock: nil}, // it has no TTL
		"writes/sadd":     {NodeRestart: {harness.LostWrite}, NodeClock: nil, MemoryEvicts: nil},
		"lock/redlock":    {NodeRestart: double, NodeClock: double, MemoryEvicts: double, Failover: nil},
	} {
		v, err := Find(id)
		require.NoError(t, err)
		for condition, classes := range want {
			require.Equal(t, classes, v.Under(condition), "%s when %s", id, condition)
		}
	}
}
