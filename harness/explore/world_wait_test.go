package explore

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// incrThenWait makes a client that adds one and, in the same pipeline, waits for two replicas for the given time in milliseconds.
func incrThenWait(within string) func(context.Context, *harness.Session, redis.UniversalClient) {
	return does("wait", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		p := r.Pipeline()
		p.Incr(ctx, "a")
		wait := p.Do(ctx, "WAIT", "2", within)
		_, err := p.Exec(ctx)
		return wait.String(), err
	})
}

// The replica that hears nothing acknowledges nothing. After a promotion the other replica acknowledges to the new primary.
func TestAcknowledgements(t *testing.T) {
	p := program(incrThenWait("20"), sends("SET c 1"))
	p.Replicas = true
	s := failover(t, p)
	require.Contains(t, results(s.run(interleave.Run(0), interleave.Run(0)).ops), "1: wait = WAIT 2 20: 2")
	require.Contains(t, results(s.run(interleave.Run(0), interleave.StopReplication, interleave.Run(0)).ops), "1: wait = WAIT 2 20: 2", "all have heard of it before replication stops")
	require.Contains(t, results(s.run(interleave.StopReplication, interleave.Run(0), interleave.Run(0)).ops), "1: wait = WAIT 2 20: 1")
	require.Contains(t, results(s.run(interleave.StopReplication, interleave.Run(1), interleave.Promote, interleave.Run(0), interleave.Run(0)).ops), "1: wait = WAIT 2 20: 1")
	s.whole()
}

// A replica that takes longer in real time than the WAIT allows answers at once in the schedule's time.
func TestAWaitDoesNotEndBeforeABusyReplicaHasAnswered(t *testing.T) {
	p := program(incrThenWait("1"), sends("SET c 1"))
	p.Replicas = true
	s := failover(t, p)
	s.run()
	name := s.w.names[bystander]
	require.NoError(t, s.w.cluster.Pause(t.Context(), name))
	time.AfterFunc(100*time.Millisecond, func() { assert.NoError(t, s.w.cluster.Resume(name)) })
	ex := s.run(interleave.Run(0), interleave.Run(0))
	require.Contains(t, results(ex.ops), "1: wait = WAIT 2 1: 2")
	require.False(t, ex.disturbed())
	s.whole()
}

// A program may leave a subscription open in each schedule, as one that expects its process to end. The Redis clients of a search live
// on, and would keep them all.
func TestSubscriptionsThatAreLeftOpenArePutAway(t *testing.T) {
	leaves := does("news", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		_, err := r.Subscribe(ctx, "news").Receive(ctx)
		return "1", err
	})
	s := newScheduler(t, quiet(program(leaves, sends("GET a"))))
	made := map[redis.UniversalClient]bool{}
	for range 3 * mostSubscriptions {
		s.run()
		made[s.w.clients[0]] = true
		require.LessOrEqual(t, s.w.clients[0].PoolStats().PubSubStats.Active, uint32(mostSubscriptions+1))
	}
	require.Len(t, made, 3, "a client serves many schedules")
	require.NotNil(t, s.w.clients[1])
}
