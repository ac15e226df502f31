//go:build !race

package analysis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/nemesis"
)

// TestLongWhatIsNotKnownIsNotGuessed truncates Sentinels' logs, ends a Sentinel for good or sets clocks. It checks that
// each stage of a failover is right, or is not known for a stated reason.
func TestLongWhatIsNotKnownIsNotGuessed(t *testing.T) {
	testenv.NeedLong(t)
	kill := faulty{make: func(on nemesis.Subject) harness.Nemesis { return nemesis.KillPrimary(on.Cluster) },
		last: 6 * time.Second}
	longKill := kill // longer than twice the failover-timeout of 3 s, after which the others try again
	longKill.last = 12 * time.Second
	crash := faulty{make: func(on nemesis.Subject) harness.Nemesis {
		return nemesis.SimulateFailure(on.Cluster, nemesis.AfterPromotion())
	}, last: 6 * time.Second}
	step := func(at nemesis.Target, by, after time.Duration) faulty {
		return faulty{make: func(on nemesis.Subject) harness.Nemesis { return nemesis.ClockStep(on.Cluster, at, by) },
			last: 5 * time.Second, side: after}
	}
	back := step(nemesis.Sentinel(), -time.Minute, 1300*time.Millisecond)
	// after 2 s it may fail over by itself, and the failovers that follow are not all comparable
	back.last = 1500 * time.Millisecond
	// of a failover: Sentinels have agreed, and the primary is about to be replaced
	const middle = 1300 * time.Millisecond
	for _, c := range []struct {
		name string
		sc   scene
	}{
		{"logs are cut off beside a kill", scene{faults: []faulty{kill}, cut: true}},
		{"logs are cut off beside a crash after the promotion", scene{faults: []faulty{crash}, cut: true}},
		{"the Sentinel that fails over goes for good",
			scene{faults: []faulty{longKill, {with: leaderGone, last: 11 * time.Second,
				side: 100 * time.Millisecond}}}},
		{"the same, and logs are cut off", scene{faults: []faulty{longKill,
			{with: leaderGone, last: 11 * time.Second, side: 100 * time.Millisecond}}, cut: true}},
		{"a Sentinel's clock steps ahead", scene{faults: []faulty{kill, step(nemesis.Sentinel(), time.Minute, middle)},
			clocks: true}},
		{"a Sentinel's clock steps back", scene{faults: []faulty{kill, back}, clocks: true}},
		{"all Sentinels' clocks step ahead",
			scene{faults: []faulty{kill, step(nemesis.Sentinels(), 5*time.Second, middle)}, clocks: true}},
		{"replicas' clocks step back", scene{faults: []faulty{kill, step(nemesis.Replicas(), -time.Minute, middle)},
			clocks: true}},
		{"replicas' clocks step ahead", scene{faults: []faulty{kill, step(nemesis.Replicas(), time.Minute, middle)},
			clocks: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.sc.rate = 1000
			h, o := failedOver(t, c.sc)
			found := analysis.Failovers(h)
			require.NotEmpty(t, found)
			compareAll(t, h, o, found)
		})
	}
}

// gone ends the first Sentinel that is elected to fail over, and never restarts it.
type gone struct{ s *observedSystem }

func leaderGone(s *observedSystem) harness.Nemesis { return gone{s} }

func (gone) Name() string             { return "sentinel-gone" }
func (gone) Effects() harness.Effects { return harness.EndsProcess }

func (g gone) Inject(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
	leader := ""
	err := await.Until(ctx, time.Millisecond, func() error {
		for _, s := range g.s.truth.logs() {
			if s.what == "+elected-leader" {
				leader = s.by
				return nil
			}
		}
		return fmt.Errorf("no Sentinel was elected")
	})
	if err != nil {
		return harness.Injection{}, err
	}
	g.s.gone.Store(true)
	return harness.Injection{Targets: []string{leader}, Bite: leader + " has gone"}, g.s.Kill(leader)
}

// reasons checks that every stage that is not known has a reason.
func reasons(t *testing.T, f analysis.Failover) {
	t.Helper()
	for _, s := range f.Stages {
		if !s.Seen {
			require.NotEmpty(t, s.Note, "%s: %s", f, s.Name)
		}
		require.False(t, s.Seen && strings.HasPrefix(s.Note, "not known"), "%s: %s", f, s.Name)
	}
}
