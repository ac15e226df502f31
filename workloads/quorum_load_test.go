package workloads

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/nemesis"
)

// quorumRun races 50 clients for 5 locks on 5 masters. They think between two tries: clients that try again at once share
// the masters out among them, and nobody gets a majority for seconds, all the more so where the machine is slow.
func quorumRun(t *testing.T, v Variant, o cluster.Options, steps func(*cluster.Cluster) []harness.TimedFault) harness.Result {
	t.Helper()
	c := cluster.Masters(5, o)
	spec := harness.Spec{
		System:   c,
		Workload: v.Workload(c, Options{TTL: 4 * time.Second}),
		Checkers: []harness.Checker{checkers.Mutex(), checkers.Stuck(), checkers.Gates()},
		Clients:  50, Duration: 9 * time.Second, Rate: 100, // leases have to end inside
	}
	if steps != nil {
		spec.Faults = steps(c)
	}
	res, err := harness.Run(t.Context(), spec)
	require.NoError(t, err)
	for _, j := range res.Judgements {
		t.Logf("%s: %v %s %v", j.Checker, j.Verdict, j.Reason, j.Figures)
	}
	return res
}

func TestLongAQuorumLockUnderLoad(t *testing.T) {
	testenv.NeedLong(t) // make test has the same load and a minority that dies
	for _, v := range quorumVariants() {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			require.Equal(t, harness.Valid, quorumRun(t, v, cluster.Options{}, nil).Verdict)
		})
	}
}

// The masters have a file, or else an outage would have to be longer than the lease: see
// TestAMasterThatForgetsMakesTwoOwners.
func TestAQuorumLockSurvivesTheDeathOfAMinority(t *testing.T) {
	for _, v := range quorumVariants() {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			res := quorumRun(t, v, cluster.Options{AOF: cluster.AOFNoSync}, func(c *cluster.Cluster) []harness.TimedFault {
				return []harness.TimedFault{{Nemesis: nemesis.Kill(c, nemesis.Minority()), For: 2 * time.Second}}
			})
			require.Equal(t, harness.Valid, res.Verdict)
			during := map[harness.Outcome]int{}
			for op, err := range res.History.Ops {
				require.NoError(t, err)
				if f := res.History.Faults[0]; op.Kind == harness.Acquire && op.Call > f.Active && op.Return < f.Heal {
					during[op.Outcome]++
				}
			}
			t.Logf("acquires while two of five were down: %v", during)
			require.Positive(t, during[harness.OK], "nothing was granted without them") // how much is the machine's affair
		})
	}
}
