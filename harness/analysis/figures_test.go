//go:build !race

// The race detector would stall the observer, and these tests depend on its times.

package analysis_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/workloads"
)

// nearTruth is how far a figure may be from the observer's value, besides the time for which the machine stalled the
// observer.
const nearTruth = 50 * time.Millisecond

// observedSystem is a cluster that the observer watches from its start.
type observedSystem struct {
	*cluster.Cluster
	t     *testing.T
	truth *truth
	dir   string      // of the logs
	cut   bool        // logs are cut off all the time
	gone  atomic.Bool // a Sentinel is gone for good
}

func (s *observedSystem) Start(ctx context.Context, clock harness.Clock, events func(harness.Event),
	log *slog.Logger) error {
	if err := s.Cluster.Start(ctx, clock, events, log); err != nil {
		return err
	}
	s.truth.observe(s.t, s.Cluster, s.dir, s.cut)
	return nil
}

// AwaitWhole does not wait for a Sentinel that is gone for good.
func (s *observedSystem) AwaitWhole(ctx context.Context) error {
	if !s.gone.Load() {
		return s.Cluster.AwaitWhole(ctx)
	}
	return await.Until(ctx, 20*time.Millisecond, func() error {
		primary, err := s.Primary(ctx)
		if err != nil {
			return err
		}
		return s.AcceptsWrites(ctx, primary)
	})
}

func (s *observedSystem) Stop() error {
	if s.truth.stop != nil {
		s.truth.end()
	}
	return s.Cluster.Stop()
}

// faulty is one fault of a test's run. The figures of the failover that it causes are checked.
type faulty struct {
	make func(on nemesis.Subject) harness.Nemesis
	with func(s *observedSystem) harness.Nemesis // used instead of make, if not nil
	last time.Duration
	side time.Duration // how long after the first fault it begins; 0: when the previous one is over
	may  bool          // may or may not lead to a failover
}

// TestLongEveryFigureOfAFailoverIsTrue compares the figures of one long run with what the observer saw: the old and new
// primaries, every stage, the downtime of the servers and the outage of the clients. It covers kills and a pause, and
// in a deep run every kind of failover. Its bounds are times, so it has to run alone.
func TestLongEveryFigureOfAFailoverIsTrue(t *testing.T) {
	testenv.NeedLong(t)
	kill := func(on nemesis.Subject) harness.Nemesis { return nemesis.KillPrimary(on.Cluster) }
	pause := func(on nemesis.Subject) harness.Nemesis { return nemesis.PausePrimary(on.Cluster) }
	order := func(on nemesis.Subject) harness.Nemesis { return nemesis.SentinelFailover(on.Cluster) }
	for name, faults := range map[string][]faulty{
		"kills": {
			{make: kill, last: 5 * time.Second},
			{make: kill, last: 5 * time.Second},
			{make: kill, last: 5 * time.Second},
			{make: func(on nemesis.Subject) harness.Nemesis { return nemesis.Restart(on.Cluster, nemesis.Primary()) },
				last: 5 * time.Second},
		},
		"stops": {
			{make: pause, last: 5 * time.Second},
			{make: pause, last: 5 * time.Second},
			{make: func(on nemesis.Subject) harness.Nemesis {
				return nemesis.Sleep(on.Cluster, nemesis.Primary(), 4*time.Second)
			}, last: 4 * time.Second},
		},
		"partitions": {
			{make: func(on nemesis.Subject) harness.Nemesis { return nemesis.PartitionPrimary(on.Cluster) },
				last: 4 * time.Second},
			{make: sides(nemesis.IsolatePrimary()), last: 4 * time.Second},
			{make: sides(nemesis.PrimaryFromSentinels()), last: 4 * time.Second},
		},
		"orders": {
			{make: order, last: 3 * time.Second},
			{make: order, last: 3 * time.Second},
			{make: func(on nemesis.Subject) harness.Nemesis {
				return nemesis.SimulateFailure(on.Cluster, nemesis.AfterPromotion())
			}, last: 4 * time.Second},
		},
		"five in a row": { // Sentinels begin no failover within 6 s of another
			{make: kill, last: 6 * time.Second}, {make: pause, last: 6 * time.Second},
			{make: order, last: 6 * time.Second},
			{make: sides(nemesis.IsolatePrimary()), last: 6 * time.Second}, {make: kill, last: 6 * time.Second},
		},
		"a kill of a second": {
			{make: kill, last: 1100 * time.Millisecond, may: true},
			{make: kill, last: 1100 * time.Millisecond, may: true},
		},
		"connections end beside a pause": {
			{make: pause, last: 4 * time.Second},
			{make: func(on nemesis.Subject) harness.Nemesis {
				return nemesis.ClientKill(on.Cluster, nemesis.Replica())
			}, last: time.Second, side: 250 * time.Millisecond, may: true},
		},
		"a replica ends beside an order": {
			{make: order, last: 5 * time.Second, may: true}, // no failover if this node was to be promoted
			{make: func(on nemesis.Subject) harness.Nemesis { return nemesis.Kill(on.Cluster, nemesis.Replica()) },
				last: 2 * time.Second, side: 250 * time.Millisecond, may: true},
		},
	} {
		if testenv.Deep() || name == "kills" || name == "connections end beside a pause" {
			t.Run(name, func(t *testing.T) { compareFailovers(t, 1000, faults) })
		}
	}
}

// TestLongFailoversUnderLittleLoad compares the figures with what the observer saw, under three operations a second.
// Most outages are then known only as ranges.
func TestLongFailoversUnderLittleLoad(t *testing.T) {
	testenv.NeedLong(t)
	order := faulty{make: func(on nemesis.Subject) harness.Nemesis { return nemesis.SentinelFailover(on.Cluster) },
		last: 3 * time.Second}
	kill := func(on nemesis.Subject) harness.Nemesis { return nemesis.KillPrimary(on.Cluster) }
	faults := []faulty{order, {make: kill, last: 4 * time.Second}}
	if testenv.Deep() {
		faults = append(faults, faults[1], order, order)
	}
	compareFailovers(t, 3, faults)
}

func sides(s nemesis.Shape) func(on nemesis.Subject) harness.Nemesis {
	return func(on nemesis.Subject) harness.Nemesis { return nemesis.Partition(on.Cluster, s, harness.Withhold()) }
}

// compareFailovers runs the faults under a load of rate operations a second. It compares the figures of each failover
// with what the observer saw.
func compareFailovers(t *testing.T, rate float64, faults []faulty) {
	h, o := failedOver(t, scene{rate: rate, faults: faults})
	found := analysis.Failovers(h)
	certain := 0
	for _, f := range faults {
		if f.side == 0 && !f.may {
			certain++
		}
	}
	compareAll(t, h, o, found)
	require.GreaterOrEqual(t, len(found), certain, "faults that led to a failover: %v", h.Faults)
}

// scene is a run whose failovers are checked against what the observer saw.
type scene struct {
	rate   float64 // operations a second
	faults []faulty
	clocks bool // nodes' clocks can be set
	fleet  bool // faults may strike clients
	cut    bool // Sentinels' logs are cut off all the time
}

// failedOver runs the faults on a new cluster, under writes of distinct values.
func failedOver(t *testing.T, sc scene) (harness.History, *truth) {
	dir := t.TempDir()
	c := cluster.Sentinel(cluster.Options{Clients: 20, LogDir: dir, Clocks: sc.clocks})
	v, err := workloads.Find("writes/sadd")
	require.NoError(t, err)
	s := &observedSystem{Cluster: c, t: t, truth: newTruth(), dir: dir, cut: sc.cut}
	spec := harness.Spec{
		System: s, Workload: v.Workload(c, workloads.Options{}), Checkers: []harness.Checker{checkers.Gates()},
		Clients: 20, Rate: sc.rate, Duration: time.Second, QuietPeriod: 1500 * time.Millisecond, Seed: 7,
	}
	on := nemesis.Subject{Cluster: c}
	if sc.fleet {
		on.Fleet = &harness.Fleet{}
		spec.Fleet = on.Fleet
	}
	for _, f := range sc.faults {
		make := f.make
		if f.with != nil {
			make = func(nemesis.Subject) harness.Nemesis { return f.with(s) }
		}
		step := harness.TimedFault{Nemesis: observedFault{make(on), s.truth}, For: f.last}
		if f.side > 0 {
			step.After = spec.QuietPeriod + f.side
			spec.Tracks = append(spec.Tracks, []harness.TimedFault{step})
			continue
		}
		spec.Faults = append(spec.Faults, step)
	}
	res, err := harness.Run(t.Context(), spec)
	require.NoError(t, err)
	return res.History, s.truth
}
