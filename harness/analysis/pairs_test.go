//go:build !race

package analysis_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/nemesis"
)

// kind is a kind of fault for a pair, and how it can move the primary.
type kind struct {
	entry    string
	given    nemesis.Parameters
	silences bool // Sentinels miss the primary
	orders   bool // orders a Sentinel to fail over
	muddles  bool // a Sentinel that it strikes may miss a primary that answers
}

// kinds lists the faults that a cluster with Sentinels takes. A fault that can strike different hosts is there once for
// the primary, and again for a replica or a Sentinel if its effect differs.
var kinds = []kind{
	{entry: "kill-HOST", silences: true}, {entry: "kill-HOST", given: nemesis.Parameters{Host: "replica"}},
	{entry: "kill-HOST", given: nemesis.Parameters{Host: "sentinel"}},
	{entry: "restart-HOST", silences: true}, {entry: "restart-HOST-at-once"},
	{entry: "pause-HOST", silences: true}, {entry: "pause-HOST", given: nemesis.Parameters{Host: "replica"}},
	{entry: "sleep-HOST", silences: true},
	{entry: "clock-step-forward-HOST"}, {entry: "clock-step-backward-HOST"},
	{entry: "clock-step-forward-HOST", given: nemesis.Parameters{Host: "sentinel"}},
	{entry: "clock-step-backward-HOST", given: nemesis.Parameters{Host: "replica"}},
	{entry: "clock-step-backward-HOST", given: nemesis.Parameters{Host: "sentinel"}, muddles: true},
	{entry: "sentinel-failover", orders: true}, {entry: "sentinel-crash-after-election"},
	{entry: "sentinel-crash-after-promotion", orders: true},
	{entry: "script-flush-HOST"}, {entry: "client-kill-HOST"}, {entry: "client-pause-HOST", silences: true},
	{entry: "client-pause-writes-HOST"},
	{entry: "memory-pressure-HOST"},
	{entry: "partition-SIDES", silences: true},
	{entry: "partition-SIDES", given: shape("split-brain-replica"), silences: true},
	{entry: "partition-SIDES", given: shape("bridge"), silences: true},
	{entry: "partition-SIDES", given: shape("isolate-primary"), silences: true},
	{entry: "partition-SIDES", given: shape("primary-sentinels"), silences: true},
	{entry: "partition-SIDES", given: shape("primary-sentinel")},
	{entry: "partition-SIDES", given: shape("clients-primary")},
	{entry: "partition-SIDES", given: shape("primary-replica")},
	{entry: "partition-SIDES", given: shape("primary-replicas")},
	{entry: "one-way"}, {entry: "cut"}, {entry: "latency"}, {entry: "bandwidth"}, {entry: "slicer"},
	{entry: "limit-data"}, {entry: "slow-close"},
	{entry: "crash-clients-HOST"}, {entry: "freeze-clients-HOST"}, {entry: "skew-clients-HOST"},
}

func shape(name string) nemesis.Parameters { return nemesis.Parameters{Shape: name} }

// noKinds lists the entries of the catalogue that kinds lacks, and why.
var noKinds = map[string]string{"partition-primary": "it is partition-split-brain under its old name"}

// apart says why a test cannot use the fault while first is in force; empty: it can.
func (k kind) apart(first kind) string {
	clock := func(k kind) bool { return strings.HasPrefix(k.entry, "clock-step") }
	switch {
	case k == first:
		return "both are one fault, on one host"
	case clock(k) && clock(first):
		return "a clock takes one step at a time, and the second may find the host of the first"
	case k.muddles || first.muddles:
		return "Sentinels disagree for long: a failover leads to another, and to which is a matter of chance"
	case k.isOrder() && first.isOrder():
		return "a Sentinel refuses to fail over while another failover is under way"
	}
	return ""
}

// moves reports whether the fault can move the primary.
func (k kind) moves() bool { return k.silences || k.orders || k.muddles }

// isOrder reports whether the fault orders a Sentinel to fail over, even in vain.
func (k kind) isOrder() bool { return k.orders || k.entry == "sentinel-crash-after-election" }

// isOf reports whether the fault's name begins with one of the entries.
func (k kind) isOf(entries ...string) bool {
	return slices.ContainsFunc(entries, func(e string) bool { return strings.HasPrefix(k.entry, e) })
}

// fault returns a fault of that kind that stays in force for the time last.
func (k kind) fault(last time.Duration) nemesis.Configured {
	for _, e := range nemesis.Entries() {
		if e.Name == k.entry {
			f, field, err := e.With(k.given, last, false)
			if err != nil {
				panic(fmt.Sprintf("%s, %s: %v", k.entry, field, err))
			}
			return f
		}
	}
	panic("no fault is called " + k.entry)
}

func (k kind) name() string {
	return k.fault(6 * time.Second).Make(nemesis.Subject{Cluster: cluster.Sentinel(cluster.Options{})}).Name()
}

// kindOf returns the kind of the fault of that name. A fault that kinds lacks is assumed to silence the primary, unless
// it strikes Sentinels.
func kindOf(name string) kind {
	for _, k := range kinds {
		if k.name() == name {
			return k
		}
	}
	return kind{entry: name, silences: !strings.HasPrefix(name, "sentinel")}
}

// TestPairsAreOfEveryKind checks that every fault of the catalogue can be drawn, and which faults exclude each other.
func TestPairsAreOfEveryKind(t *testing.T) {
	for _, e := range nemesis.Entries() {
		_, left := noKinds[e.Name]
		require.NotEqual(t, left, slices.ContainsFunc(kinds, func(k kind) bool { return k.entry == e.Name }), e.Name)
	}
	reasons := map[string]int{}
	for _, a := range kinds {
		for _, b := range kinds {
			reasons[b.apart(a)]++
		}
	}
	t.Logf("%d kinds, %d pairs: %v", len(kinds), len(kinds)*len(kinds), reasons)
	require.Len(t, reasons, 5)
	require.Greater(t, reasons[""], len(kinds)*len(kinds)*9/10)
}

// TestLongFailoversOfFaultsInPairs compares the figures with what the observer saw, under two overlapping faults of
// which one can move the primary. The printed seed draws the pairs, their order and the time between the two.
// DOUBLEGRANT_TEST_SEED repeats them.
func TestLongFailoversOfFaultsInPairs(t *testing.T) {
	testenv.NeedLong(t)
	pairs := 3
	if testenv.Deep() {
		pairs = 12
	}
	rng := rand.New(rand.NewPCG(uint64(testenv.Seed()), 31))
	for range pairs {
		one, two := kinds[rng.IntN(len(kinds))], kinds[rng.IntN(len(kinds))]
		for two.apart(one) != "" || !one.moves() && !two.moves() {
			one, two = kinds[rng.IntN(len(kinds))], kinds[rng.IntN(len(kinds))]
		}
		between := 100*time.Millisecond + time.Duration(rng.Int64N(int64(2*time.Second)))
		t.Run(fmt.Sprintf("%s %s", one.name(), two.name()), func(t *testing.T) {
			t.Logf("seed %d: %s, and %v later %s", testenv.Seed(), one.name(), between, two.name())
			comparePair(t, one, two, between)
		})
	}
}

// comparePair runs two faults, the second after a delay, and compares the figures of each failover with what the
// observer saw.
func comparePair(t *testing.T, one, two kind, between time.Duration) {
	const clients = "crash-clients freeze-clients skew-clients"
	h, o := failedOver(t, scene{
		rate: 1000, clocks: one.isOf("clock-step") || two.isOf("clock-step"),
		fleet: one.isOf(strings.Fields(clients)...) || two.isOf(strings.Fields(clients)...),
		faults: []faulty{
			{make: one.fault(6 * time.Second).Make, last: 6 * time.Second},
			{make: two.fault(5 * time.Second).Make, last: 5 * time.Second, side: between},
		},
	})
	compareAll(t, h, o, analysis.Failovers(h))
}
