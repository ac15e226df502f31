package workloads

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// A quorum lock is granted and safe while two of five masters are down. The masters have a file, or else an outage
// would have to be longer than the lease: see TestAMasterThatForgetsMakesTwoOwners. Clients think between two tries.
// Clients that try again at once split the masters among them, and nobody gets a majority for seconds, especially on a
// slow machine.
func TestAQuorumLockSurvivesTheDeathOfAMinority(t *testing.T) {
	for _, v := range quorumVariants() {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel() // it mostly waits
			c := cluster.Masters(5, cluster.Options{AOF: cluster.AOFNoSync})
			res, err := harness.Run(t.Context(), harness.Spec{
				System:   c,
				Workload: v.Workload(c, Options{TTL: 4 * time.Second}),
				Checkers: []harness.Checker{checkers.Mutex(), checkers.Stuck(), checkers.Gates()},
				Clients:  50, Duration: 9 * time.Second, Rate: 100, // leases have to end inside
				Faults: []harness.TimedFault{{Nemesis: nemesis.Kill(c, nemesis.Minority()), For: 2 * time.Second}},
			})
			require.NoError(t, err)
			require.Equal(t, harness.Valid, res.Verdict, "%+v", res.Judgements)
			granted := 0
			for op, err := range res.History.Ops {
				require.NoError(t, err)
				f := res.History.Faults[0]
				if op.Kind == harness.Acquire && op.Outcome == harness.OK && op.Call > f.Active && op.Return < f.Heal {
					granted++
				}
			}
			require.Positive(t, granted, "nothing was granted without them") // how much depends on the machine
		})
	}
}
