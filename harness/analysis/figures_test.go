//go:build !race

// The race detector would stall the observer, whose times these tests go by.

package analysis_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/workloads"
)

// nearTruth is the allowed distance between a figure and what the observer saw. The observer's own stalls are added to it.
const nearTruth = 50 * time.Millisecond

// observedSystem is a cluster that the observer watches as soon as it is up.
type observedSystem struct {
	*cluster.Cluster
	t     *testing.T
	truth *truth
}

func (s *observedSystem) Start(ctx context.Context, clock harness.Clock, events func(harness.Event), log *slog.Logger) error {
	if err := s.Cluster.Start(ctx, clock, events, log); err != nil {
		return err
	}
	s.truth = observed(s.t, s.Cluster)
	return nil
}

func (s *observedSystem) Stop() error {
	if s.truth != nil {
		s.truth.end()
	}
	return s.Cluster.Stop()
}

// faulty is one fault of a run whose failover is compared.
type faulty struct {
	make func(c *cluster.Cluster) harness.Nemesis
	last time.Duration
	side time.Duration // so long after the first fault's start it runs beside it; 0: it runs after the one before
	may  bool          // it may lead to a failover or not
}

// TestLongEveryFigureOfAFailoverIsTrue holds the figures of one long run against what the observer saw: who followed whom, every
// stage, the downtime of the servers and the outage of the clients; for kills and a pause, in a deep run for every kind of failover.
// Its bounds are times, so it has to run alone.
func TestLongEveryFigureOfAFailoverIsTrue(t *testing.T) {
	testenv.NeedLong(t)
	kill := func(c *cluster.Cluster) harness.Nemesis { return nemesis.KillPrimary(c) }
	pause := func(c *cluster.Cluster) harness.Nemesis { return nemesis.PausePrimary(c) }
	order := func(c *cluster.Cluster) harness.Nemesis { return nemesis.SentinelFailover(c) }
	for name, faults := range map[string][]faulty{
		"kills": {
			{make: kill, last: 5 * time.Second},
			{make: kill, last: 5 * time.Second},
			{make: kill, last: 5 * time.Second},
			{make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.Restart(c, nemesis.Primary()) }, last: 5 * time.Second},
		},
		"stops": {
			{make: pause, last: 5 * time.Second},
			{make: pause, last: 5 * time.Second},
			{make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.Sleep(c, nemesis.Primary(), 4*time.Second) }, last: 4 * time.Second},
		},
		"partitions": {
			{make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.PartitionPrimary(c) }, last: 4 * time.Second},
			{make: sides(nemesis.IsolatePrimary()), last: 4 * time.Second},
			{make: sides(nemesis.PrimaryFromSentinels()), last: 4 * time.Second},
		},
		"orders": {
			{make: order, last: 3 * time.Second},
			{make: order, last: 3 * time.Second},
			{make: func(c *cluster.Cluster) harness.Nemesis {
				return nemesis.SimulateFailure(c, nemesis.AfterPromotion())
			}, last: 4 * time.Second},
		},
		"five in a row": { // Sentinels begin no failover within 6 s of another
			{make: kill, last: 6 * time.Second}, {make: pause, last: 6 * time.Second}, {make: order, last: 6 * time.Second},
			{make: sides(nemesis.IsolatePrimary()), last: 6 * time.Second}, {make: kill, last: 6 * time.Second},
		},
		"a kill of a second": {
			{make: kill, last: 1100 * time.Millisecond, may: true},
			{make: kill, last: 1100 * time.Millisecond, may: true},
		},
		"connections end beside a pause": {
			{make: pause, last: 4 * time.Second},
			{make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.ClientKill(c, nemesis.Replica()) }, last: time.Second, side: 250 * time.Millisecond, may: true},
		},
		"a replica ends beside an order": {
			{make: order, last: 5 * time.Second, may: true}, // not if it was to be promoted
			{make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.Kill(c, nemesis.Replica()) }, last: 2 * time.Second, side: 250 * time.Millisecond, may: true},
		},
	} {
		if testenv.Deep() || name == "kills" || name == "connections end beside a pause" {
			t.Run(name, func(t *testing.T) { compareFailovers(t, 1000, faults) })
		}
	}
}

// TestLongFailoversUnderLittleLoad compares failovers under three operations a second: most of what clients saw are ranges.
func TestLongFailoversUnderLittleLoad(t *testing.T) {
	testenv.NeedLong(t)
	order := faulty{make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.SentinelFailover(c) }, last: 3 * time.Second}
	faults := []faulty{order, {make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.KillPrimary(c) }, last: 4 * time.Second}}
	if testenv.Deep() {
		faults = append(faults, faults[1], order, order)
	}
	compareFailovers(t, 3, faults)
}

func sides(s nemesis.Shape) func(c *cluster.Cluster) harness.Nemesis {
	return func(c *cluster.Cluster) harness.Nemesis { return nemesis.Partition(c, s, harness.Withhold()) }
}

// compareFailovers runs the faults under a load of rate operations a second and compares each failover.
func compareFailovers(t *testing.T, rate float64, faults []faulty) {
	h, o, log := failedOver(t, rate, faults)
	found := analysis.Failovers(h)
	certain := 0
	for _, f := range faults {
		if f.side == 0 && !f.may {
			certain++
		}
	}
	compareAll(t, h, o, log, found)
	require.GreaterOrEqual(t, len(found), certain, "faults that led to a failover: %v", h.Faults)
}

// failedOver runs the faults on a cluster of its own under writes that are all different.
func failedOver(t *testing.T, rate float64, faults []faulty) (harness.History, *truth, []said) {
	dir := t.TempDir()
	c := cluster.Sentinel(cluster.Options{Clients: 20, LogDir: dir})
	v, err := workloads.Find("writes/sadd")
	require.NoError(t, err)
	s := &observedSystem{Cluster: c, t: t}
	spec := harness.Spec{
		System: s, Workload: v.Workload(c, workloads.Options{}), Checkers: []harness.Checker{checkers.Gates()},
		Clients: 20, Rate: rate, Duration: time.Second, QuietPeriod: 1500 * time.Millisecond, Seed: 7,
	}
	for _, f := range faults {
		step := harness.TimedFault{Nemesis: f.make(c), For: f.last}
		if f.side > 0 {
			step.After = spec.QuietPeriod + f.side
			spec.Tracks = append(spec.Tracks, []harness.TimedFault{step})
			continue
		}
		spec.Faults = append(spec.Faults, step)
	}
	res, err := harness.Run(t.Context(), spec)
	require.NoError(t, err)
	return res.History, s.truth, logs(t, dir)
}
