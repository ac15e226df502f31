package nemesis_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

// TestAFaultThatDoesNotActIsAnError checks that Inject returns an error if the fault has no effect.
func TestAFaultThatDoesNotActIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := threeOf("s1", "s2", "s3")
		one := threeOf("s1")
		s.deaf, one.deaf = true, true
		degrade := func(f harness.LinkFault) harness.Nemesis {
			return nemesis.Degrade(s, nemesis.Clients(), nemesis.Primary(), f)
		}
		for want, n := range map[string]harness.Nemesis{
			"r1 still runs":                         nemesis.KillPrimary(s),
			"r1 answers although it is stopped":     nemesis.PausePrimary(s),
			"through the partition":                 nemesis.PartitionPrimary(s),
			"g0 reaches r1 all the same":            degrade(harness.Withhold()),
			"took 0s only, want 50ms or more":       degrade(harness.Latency(50*time.Millisecond, 0)),
			"took 0s only, want 250ms or more":      degrade(harness.Bandwidth(5000)),
			"took 0s only, want 40ms or more":       degrade(harness.Slice(10, 10*time.Millisecond)),
			"did not end after 100 B":               degrade(harness.LimitData(100)),
			"s1 has not crashed (asked again":       nemesis.SimulateFailure(one, nemesis.AfterElection()),
			"r1 was not seen to sleep for 1s":       nemesis.Sleep(s, nemesis.Primary(), time.Second),
			"r1's clock cannot be read: TIME answe": nemesis.ClockStep(s, nemesis.Primary(), time.Minute),
		} {
			inj, err := n.Inject(soon(t), rng())
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "\n")
			if inj.Heal != nil {
				require.NoError(t, inj.Heal(t.Context()))
			}
		}
	})
}
