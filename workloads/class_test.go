package workloads_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

// Each variant that mends a class is in the catalogue, is named in the remedy, and does not have the class itself as
// long as Redis forgets nothing.
func TestWhatMendsAClassIsInTheCatalogue(t *testing.T) {
	for _, d := range harness.Classes() {
		require.NotEmpty(t, d.MendedBy, d.Class)
		for _, id := range d.MendedBy {
			v, err := workloads.Find(id)
			require.NoError(t, err, d.Class)
			require.Contains(t, d.Remedy, id, d.Class)
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

// Every declared flaw of a variant is one that the checkers of its loads or searches may find, or the explorer itself.
func TestCheckersFindEveryDeclaredFlaw(t *testing.T) {
	for _, v := range workloads.Catalogue() {
		found := checkers.Finds(v.Workload(nil, workloads.Options{Rounds: workloads.RoundsOptions{Lock: true}}))
		for _, f := range v.Flaws {
			require.Contains(t, append(found, harness.Deadlock, harness.UndeclaredKey), f.Class, v.ID)
		}
	}
}
