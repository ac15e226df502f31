package workloads_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

// Every variant that mends a class is in the catalogue and is named in the class's remedies. It shows that class only
// if Redis forgets something.
func TestWhatMendsAClassIsInTheCatalogue(t *testing.T) {
	for _, d := range harness.Classes() {
		require.NotEmpty(t, d.MendedBy, d.Class)
		for _, id := range d.MendedBy {
			v, err := workloads.Find(id)
			require.NoError(t, err, d.Class)
			require.Contains(t, d.Remedies(), id, d.Class)
			for _, f := range v.Flaws {
				if f.Class == d.Class {
					forgetful := []workloads.Condition{workloads.Failover, workloads.NodeRestart,
						workloads.MemoryEvicts, workloads.NodeClock}
					require.Contains(t, forgetful, f.When, "%s mends %s, which is a flaw of its own", id, d.Class)
				}
			}
		}
	}
}

// Every flaw that a variant declares can be found by the checkers of its load or search, or by the explorer itself.
func TestCheckersFindEveryDeclaredFlaw(t *testing.T) {
	for _, v := range workloads.Catalogue() {
		found := checkers.Finds(v.Workload(nil, workloads.Options{Rounds: workloads.RoundsOptions{Lock: true}}))
		for _, f := range v.Flaws {
			require.Contains(t, append(found, harness.Deadlock, harness.UndeclaredKey), f.Class, v.ID)
		}
	}
}
