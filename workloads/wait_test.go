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

// asked notes the number of replicas in the WAITs that are sent.
func asked(seen *[]any) redis.Hook { return waitSpy{seen} }

type waitSpy struct{ seen *[]any }

func (waitSpy) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (waitSpy) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (w waitSpy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, c := range cmds {
			if c.Name() == "wait" {
				*w.seen = append(*w.seen, c.Args()[1])
			}
		}
		return next(ctx, cmds)
	}
}

func TestTheOptionReachesRedis(t *testing.T) {
	c, r := realRedis(t)
	var seen []any
	r.AddHook(asked(&seen))
	for _, v := range waiters() {
		for acks, want := range map[int]int{0: 1, 2: 2} {
			client, err := v.Workload(c, Options{Acks: acks}).Open(t.Context(), 0)
			require.NoError(t, err)
			require.NoError(t, r.FlushAll(t.Context()).Err())
			seen = nil
			p := &pen{}
			client.Step(t.Context(), harness.NewSession(p, 0, 1, 0, newRand()))
			require.Equal(t, []any{want}, seen, v.ID)
			require.NotEqual(t, harness.OK, p.ops[0].Outcome, "%s: there is no replica", v.ID)
		}
	}
}

// settledAdd adds an integer with a WAIT, in a traced client.
func settledAdd(t *testing.T, r redis.UniversalClient, acks int, n int64) harness.Op {
	t.Helper()
	return add(t.Context(), harness.NewSession(&pen{}, 0, 1, 0, newRand()), r, waitFor(acks), "set", n)
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
	w := SAddWait(c, 1)
	client, err := w.Open(t.Context(), 0)
	require.NoError(t, err)
	p := &pen{}
	s := harness.NewSession(p, 0, 1, 0, newRand())
	client.Step(t.Context(), s)
	client.Step(t.Context(), s)
	require.NoError(t, w.(harness.Finisher).Finish(t.Context(), s))
	require.Len(t, p.ops, 3)
	require.Equal(t, harness.Info, p.ops[0].Outcome)
	require.Equal(t, "0-1", p.ops[2].Result)
	require.Equal(t, p.ops[0].Key, p.ops[2].Key)
	require.NotEqual(t, SAdd(c).(*sadd).key, p.ops[0].Key, "the two may ride together")
	require.Equal(t, int64(2), r.SCard(t.Context(), p.ops[0].Key).Val())
}

func TestWhatALostKeyDoes(t *testing.T) {
	for id, want := range map[string]map[Condition][]harness.Class{
		"lock/set-nx-px": {
			Failover: {harness.DoubleGrant}, NodeRestart: {harness.DoubleGrant}, MemoryEvicts: {harness.DoubleGrant},
			NodeClock: {harness.DoubleGrant}, Race: nil,
		},
		"lock/fenced": {
			NodeRestart: {harness.DoubleGrant, harness.FenceRegression}, NodeClock: {harness.DoubleGrant}, Crash: nil,
		},
		"dedup/set-nx-ex": {
			NodeRestart: {harness.DuplicateDelivery}, NodeClock: {harness.DuplicateDelivery}, Crash: {harness.LostMessage},
		},
		"sequence/incr": {
			NodeRestart: {harness.DuplicateNumber, harness.Regression, harness.SequenceRestart}, MemoryEvicts: nil, NodeClock: nil, // it has no TTL
		},
		"writes/sadd": {NodeRestart: {harness.LostWrite}, NodeClock: nil, MemoryEvicts: nil},
		"lock/redlock": {
			NodeRestart: {harness.DoubleGrant}, NodeClock: {harness.DoubleGrant}, MemoryEvicts: {harness.DoubleGrant}, Failover: nil,
		},
	} {
		v, err := Find(id)
		require.NoError(t, err)
		for condition, classes := range want {
			require.Equal(t, classes, v.Under(condition), "%s when %s", id, condition)
		}
	}
}
