package workloads_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/workloads"
)

// splitBrain runs the experiment with five clients, one per group, for 8 seconds at 40 rounds a second each. For five
// of those seconds the primary and the first two clients are cut off. A client that waited for answers catches up
// afterwards. The test runs again if no Sentinel was elected to fail over during the fault: on a busy machine an
// election may have no winner, and the next is six seconds later.
func splitBrain(t *testing.T, acks int) (res harness.Result) {
	t.Helper()
	for range 3 {
		c := cluster.Sentinel(cluster.Options{})
		o := workloads.Options{Acks: acks,
			Rounds: workloads.RoundsOptions{Rounds: 320, Every: 25 * time.Millisecond, Lock: true}}
		var err error
		res, err = harness.Run(t.Context(), harness.Spec{
			System: c, Workload: workloads.Rounds(c, o),
			Checkers: []harness.Checker{checkers.Mutex(), checkers.Writes()},
			Clients:  5, Duration: 14 * time.Second, QuietPeriod: time.Second,
			Faults: []harness.TimedFault{{Nemesis: nemesis.PartitionPrimary(c), For: 5 * time.Second}},
		})
		require.NoError(t, err)
		if res.History.Faults[0].Proved {
			return res
		}
	}
	require.Fail(t, "no split brain", res.History.Faults[0].Proof)
	return res
}

// counted counts the operations of a kind by outcome, and the tries of each integer or lock.
func counted(
	t *testing.T, res harness.Result, kind harness.Kind,
) (outcomes map[harness.Outcome]int, tries map[string]int) {
	t.Helper()
	outcomes, tries = map[harness.Outcome]int{}, map[string]int{}
	for op, err := range res.History.Ops {
		require.NoError(t, err)
		if op.Kind == kind {
			outcomes[op.Outcome]++
			tries[op.Key+" "+op.Arg]++
		}
	}
	return outcomes, tries
}

func TestLongRoundsOfASplitBrain(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	res := splitBrain(t, 0)
	_, tries := counted(t, res, harness.Add)
	_, owners := counted(t, res, harness.Acquire)
	requireOnce(t, 5, 320, tries, owners)
	require.Equal(t, harness.Invalid, res.Verdict)
	require.Greater(t, res.Totals[harness.DoubleGrant], 50)
	lost := 0
	for _, a := range res.Anomalies {
		if a.Class == harness.LostWrite {
			lost += max(1, a.Count)
			require.True(t, a.Count <= 100 || a.Ops[0].Client%5 < 2, "the others' primary is the one that stayed")
		}
	}
	require.Greater(t, lost, 200, "those of the first two clients, from the partition on")
}

// With acknowledgements a split brain loses no acknowledged write: the primary that is cut off has no replica.
func TestLongRoundsWithAcknowledgementsOfASplitBrain(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	res := splitBrain(t, 1)
	adds, _ := counted(t, res, harness.Add)
	require.Equal(t, harness.Valid, res.Verdict)
	require.Greater(t, adds[harness.Info], 100, "what too few replicas have is unknown")
}

// requireOnce requires that each client wrote each of its integers once, and tried the lock of each round once.
func requireOnce(t *testing.T, clients, rounds int, tries, owners map[string]int) {
	t.Helper()
	require.Len(t, tries, clients*rounds)
	require.Len(t, owners, clients*rounds)
	for w := range clients {
		for i := range rounds {
			require.Equal(t, 1, tries[fmt.Sprintf("rounds %d", w+clients*i)])
			require.Equal(t, 1, owners[fmt.Sprintf("round-%d client-%d", i, w)])
		}
	}
}

// aloneRounds has three clients do ten rounds each on one Redis, which has no replicas.
func aloneRounds(t *testing.T, acks int) harness.Result {
	t.Helper()
	c := cluster.Standalone(cluster.Options{})
	o := workloads.Options{Acks: acks,
		Rounds: workloads.RoundsOptions{Clients: 3, Rounds: 10, Every: 50 * time.Millisecond, Lock: true}}
	res, err := harness.Run(t.Context(), harness.Spec{
		System: c, Workload: workloads.Rounds(c, o), Clients: 3, Duration: 2 * time.Second,
		Checkers: []harness.Checker{checkers.Mutex(), checkers.Writes()},
	})
	require.NoError(t, err)
	return res
}

func TestRoundsKeepTheirPace(t *testing.T) {
	t.Parallel()
	res := aloneRounds(t, 0)
	require.Equal(t, harness.Valid, res.Verdict)
	adds, tries := counted(t, res, harness.Add)
	locks, owners := counted(t, res, harness.Acquire)
	requireOnce(t, 3, 10, tries, owners)
	require.Equal(t, 30, adds[harness.OK])
	require.Equal(t, 10, locks[harness.OK], "one owner for each round")
	first, last := map[int]time.Duration{}, map[int]time.Duration{}
	for op, err := range res.History.Ops {
		require.NoError(t, err)
		if op.Kind == harness.Add {
			if first[op.Client] == 0 {
				first[op.Client] = op.Call
			}
			last[op.Client] = op.Call
		}
	}
	for w := range 3 {
		require.GreaterOrEqual(t, last[w]-first[w], 440*time.Millisecond)
	}
}

// A write that too few replicas acknowledge ends in info. A lock that too few acknowledge is released.
func TestRoundsThatNoReplicaAcknowledges(t *testing.T) {
	t.Parallel()
	res := aloneRounds(t, 1)
	adds, _ := counted(t, res, harness.Add)
	locks, _ := counted(t, res, harness.Acquire)
	require.Equal(t, map[harness.Outcome]int{harness.Info: 30}, adds)
	require.Zero(t, locks[harness.OK])
	require.Positive(t, locks[harness.Fail], "given back")
}

func TestRoundsOfTooManyClientsAreRefused(t *testing.T) {
	t.Parallel()
	c := cluster.Standalone(cluster.Options{})
	_, err := harness.Run(t.Context(), harness.Spec{
		System: c, Workload: workloads.Rounds(c, workloads.Options{
			Rounds: workloads.RoundsOptions{Clients: 2, Rounds: 1}}),
		Checkers: []harness.Checker{checkers.Writes()}, Clients: 3, Duration: 100 * time.Millisecond,
	})
	require.ErrorContains(t, err, "3 clients ran, and RoundsOptions.Clients is 2")
}
