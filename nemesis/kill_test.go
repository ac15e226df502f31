package nemesis_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

// TestKillOfReplicas checks that the primary has lost the replicas that were killed.
func TestKillOfReplicas(t *testing.T) {
	b := borrow(t, calm)
	for _, h := range []nemesis.Target{nemesis.Replica(), nemesis.Replicas()} {
		inj := b.inject(nemesis.Kill(b.Cluster, h))
		require.NotContains(t, inj.Targets, "r1")
		left, err := b.Do(b.ctx, "r1", "INFO", "replication")
		require.NoError(t, err)
		require.Contains(t, left, map[int]string{1: "connected_slaves:1", 2: "connected_slaves:0"}[len(inj.Targets)])
		b.heal(inj)
	}
}

func TestFaultsOfNodesSayWhatATopologyLacks(t *testing.T) {
	s, three := oneNode(), threeOf("s1")
	for want, n := range map[string]harness.Nemesis{
		"there is no replica in this topology": nemesis.Kill(s, nemesis.Replica()),
		"g0 is a client group":                 nemesis.Kill(s, nemesis.Named("g0")),
		"needs Sentinels":                      nemesis.SentinelFailover(s),
		"ask for 500ms or more":                nemesis.Sleep(s, nemesis.Primary(), time.Millisecond),
		"ask for 1s or more":                   nemesis.ClockStep(s, nemesis.Primary(), 0),
		"ask for 3s or more":                   nemesis.ClockStep(three, nemesis.Sentinel(), 2*time.Second),

		"s1 is a Sentinel, and this is a fault of Redis nodes": nemesis.Sleep(three, nemesis.Sentinel(), time.Second),
	} {
		inj, err := n.Inject(t.Context(), rng())
		require.ErrorContains(t, err, want)
		require.Nil(t, inj.Heal)
	}
}

// TestAHealVisitsEveryNode checks that a heal goes on to the other nodes if the first one cannot be healed.
func TestAHealVisitsEveryNode(t *testing.T) {
	s := threeOf()
	for _, n := range []harness.Nemesis{nemesis.Pause(s, nemesis.Nodes()), nemesis.Kill(s, nemesis.Nodes())} {
		inj, err := n.Inject(t.Context(), rng())
		require.NoError(t, err)
		require.Equal(t, map[string]int{"r1": 1, "r2": 1, "r3": 1}, s.down)
		s.unwhole = errors.New("stubborn")
		require.ErrorContains(t, inj.Heal(t.Context()), "stubborn")
		broken := 0
		for node, n := range s.down {
			if s.down[node] = 0; n > 0 {
				broken++
			}
		}
		require.Equal(t, 1, broken)
	}
}

// TestAShortPauseNeedsNoFailover checks the proof of a kill or pause of the primary. Without a failover the fault is
// proved only if it was too short for Sentinels to replace the primary.
func TestAShortPauseNeedsNoFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, make := range []func(*sketch) harness.Nemesis{
			func(s *sketch) harness.Nemesis { return nemesis.KillPrimary(s) },
			func(s *sketch) harness.Nemesis { return nemesis.PausePrimary(s) },
		} {
			s := threeOf("s1", "s2", "three")
			inj, err := make(s).Inject(t.Context(), rng())
			require.NoError(t, err)
			prove := func(ctx context.Context, cancel context.CancelFunc) (string, error) {
				defer cancel()
				return inj.Prove(ctx)
			}
			seen, err := prove(context.WithTimeout(t.Context(), 300*time.Millisecond))
			require.NoError(t, err)
			require.Equal(t, "no replica was promoted within 300ms, and Sentinels may take 4s", seen)
			_, err = prove(context.WithTimeout(t.Context(), 5*time.Second))
			require.ErrorContains(t, err, "no failover")
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = prove(ended, cancel)
			require.Error(t, err, "a run that is interrupted proves nothing")
			s.promoted = "r2"
			seen, err = prove(context.WithTimeout(t.Context(), time.Second))
			require.NoError(t, err)
			require.Equal(t, "r2 was promoted", seen)
		}
	})
}
