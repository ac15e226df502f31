//go:build !race

package analysis_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/nemesis"
)

// kind is one kind of fault for a pair: which it is, and whether it can move the primary.
type kind struct {
	name  string
	given nemesis.Parameters
	moves bool
}

// kinds lists one of each kind of fault that a cluster with Sentinels takes and that needs neither a clock of its own nor a fleet.
var kinds = []kind{
	{name: "kill-HOST", moves: true}, {name: "restart-HOST", moves: true}, {name: "restart-HOST-at-once"}, {name: "pause-HOST", moves: true},
	{name: "sleep-HOST", moves: true}, {name: "sentinel-failover", moves: true}, {name: "sentinel-crash-after-election"},
	{name: "sentinel-crash-after-promotion", moves: true}, {name: "script-flush-HOST"}, {name: "client-kill-HOST"}, {name: "client-pause-HOST", moves: true},
	{name: "client-pause-writes-HOST"}, {name: "memory-pressure-HOST"}, {name: "partition-SIDES", moves: true},
	{name: "partition-SIDES", given: nemesis.Parameters{Shape: "bridge"}, moves: true}, {name: "partition-SIDES", given: nemesis.Parameters{Shape: "clients-primary"}},
	{name: "partition-SIDES", given: nemesis.Parameters{Shape: "primary-replicas"}}, {name: "partition-SIDES", given: nemesis.Parameters{Shape: "isolate-primary"}, moves: true},
	{name: "cut"}, {name: "latency"}, {name: "bandwidth"}, {name: "slicer"}, {name: "limit-data"}, {name: "slow-close"},
	{name: "kill-HOST", given: nemesis.Parameters{Host: "replica"}}, {name: "pause-HOST", given: nemesis.Parameters{Host: "replica"}},
	{name: "kill-HOST", given: nemesis.Parameters{Host: "sentinel"}},
}

// fault returns the fault of that kind, to stay in force for last.
func (k kind) fault(t *testing.T, last time.Duration) func(c *cluster.Cluster) harness.Nemesis {
	for _, e := range nemesis.Entries() {
		if e.Name == k.name {
			f, _, err := e.With(k.given, last, false)
			require.NoError(t, err)
			return func(c *cluster.Cluster) harness.Nemesis { return f.Make(nemesis.Subject{Cluster: c}) }
		}
	}
	t.Fatalf("no fault is called %s", k.name)
	return nil
}

// TestLongFailoversOfFaultsInPairs compares the failovers under two faults side by side, the first of which can move the primary. Pairs
// and the time between the two are drawn by the printed seed: DOUBLEGRANT_TEST_SEED repeats them.
func TestLongFailoversOfFaultsInPairs(t *testing.T) {
	testenv.NeedLong(t)
	pairs := 3
	if testenv.Deep() {
		pairs = 12
	}
	rng := rand.New(rand.NewPCG(uint64(testenv.Seed()), 31))
	for range pairs {
		a, b := kinds[rng.IntN(len(kinds))], kinds[rng.IntN(len(kinds))]
		for !a.moves || a == b {
			a, b = kinds[rng.IntN(len(kinds))], kinds[rng.IntN(len(kinds))]
		}
		apart := 100*time.Millisecond + time.Duration(rng.Int64N(int64(2*time.Second)))
		first := rng.IntN(2) == 0
		t.Run(fmt.Sprintf("%s %s", a.name, b.name), func(t *testing.T) {
			t.Logf("seed %d: %+v and %+v, %v apart, in this order: %v", testenv.Seed(), a, b, apart, first)
			one, two := a, b
			if !first {
				one, two = b, a
			}
			h, o, log := failedOver(t, 1000, []faulty{
				{make: one.fault(t, 6*time.Second), last: 6 * time.Second},
				{make: two.fault(t, 5*time.Second), last: 5 * time.Second, side: apart},
			})
			found := analysis.Failovers(h)
			compareAll(t, h, o, log, found)
			names := map[string]bool{} // of faults that can move the primary
			for _, k := range []kind{a, b} {
				if k.moves {
					names[k.fault(t, 5*time.Second)(cluster.Sentinel(cluster.Options{})).Name()] = true
				}
			}
			for _, f := range found {
				all := f.OneOf
				if len(all) == 0 && f.Fault >= 0 {
					all = []int{f.Fault}
				}
				require.NotEmpty(t, all, "%s: a fault has led to it", f)
				for _, i := range all {
					require.True(t, names[h.Faults[i].Name], "%s: %s moves no primary", f, h.Faults[i].Name)
				}
			}
		})
	}
}
