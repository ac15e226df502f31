package nemesis_test

import (
	"context"
	"math"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

// TestADegradationStrikesEveryLinkOnce checks that no link is degraded twice, even if a host is in both choices.
func TestADegradationStrikesEveryLinkOnce(t *testing.T) {
	s := threeOf("s1")
	for _, c := range []struct {
		from, to nemesis.Target
		targets  []string
		links    []harness.Link
	}{
		{nemesis.Clients(), nemesis.Primary(), append(s.groups, "r1"), harness.Between(s.groups, []string{"r1"})},
		{nemesis.Nodes(), nemesis.Nodes(), s.nodes, harness.Between([]string{"r1", "r2"}, []string{"r3"})},
	} {
		inj, err := nemesis.Degrade(s, c.from, c.to, harness.Latency(50*time.Millisecond, 0)).Inject(t.Context(), rng())
		require.NoError(t, err)
		require.Equal(t, c.targets, inj.Targets)
		if len(c.targets) == 3 {
			c.links = append(c.links, harness.Between([]string{"r1"}, []string{"r2"})...)
		}
		require.ElementsMatch(t, c.links, s.links)
		require.NoError(t, inj.Heal(t.Context()))
	}
	for _, fault := range append(nemesis.Cuts(), harness.Latency(time.Second, 0)) {
		name := map[bool]string{true: "cut", false: "latency"}[fault.Effects().Has(harness.CutsLinks)]
		n := nemesis.Degrade(s, nemesis.Clients(), nemesis.Primary(), fault)
		require.Equal(t, name, n.Name())
		for _, n := range []harness.Nemesis{n, nemesis.Partition(nil, nemesis.SplitBrain(), fault)} {
			require.Equal(t, fault.Effects(), n.(harness.Effective).Effects(), fault.String())
		}
	}
}

// TestADegradationLooksPastANodeThatIsDown checks that only working links are measured. If none works, Inject fails.
func TestADegradationLooksPastANodeThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := threeOf()
		s.down["r1"]++
		for _, fault := range append(nemesis.Cuts(), harness.Latency(50*time.Millisecond, 0)) {
			inj, err := nemesis.Degrade(s, nemesis.Clients(), nemesis.Nodes(), fault).Inject(t.Context(), rng())
			require.NoError(t, err)
			require.Contains(t, inj.Targets, "r1", "it is not degraded")
			require.NotContains(t, inj.Bite, ">r1 ")
			require.Contains(t, inj.Bite, "likewise 1 more")
			require.NoError(t, inj.Heal(t.Context()))
		}
		for _, fault := range append(nemesis.Cuts(), harness.Latency(50*time.Millisecond, 0), harness.LimitData(100)) {
			inj, err := nemesis.Degrade(s, nemesis.Clients(), nemesis.Named("r1"), fault).Inject(soon(t), rng())
			require.ErrorContains(t, err, "g0 does not reach r1 before "+fault.String())
			require.Nil(t, inj.Heal)
		}
	})
}

// undialled is a cluster to which no echo can dial.
type undialled struct{ *sketch }

func (undialled) Echo(context.Context, string, string, int) error {
	return &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
}

func TestAConnectionThatNeverWasDoesNotEnd(t *testing.T) {
	n := nemesis.Degrade(undialled{oneNode()}, nemesis.Clients(), nemesis.Nodes(), harness.LimitData(100))
	_, err := n.Inject(t.Context(), rng())
	require.ErrorContains(t, err, "no connection on g0>r1")
}

// stalling is a cluster that answers one echo, and then leaves as many as stalls says without an answer.
type stalling struct {
	*sketch
	echoes *atomic.Int32
	stalls int32
}

func (s stalling) Echo(ctx context.Context, from, to string, size int) error {
	if n := s.echoes.Add(1); n > 1 && n <= 1+s.stalls {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.sketch.Echo(ctx, from, to, size)
}

func TestAStallIsNotALatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(stalls int32) (*atomic.Int32, error) {
			s := stalling{oneNode(), new(atomic.Int32), stalls}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := nemesis.Degrade(s, nemesis.Clients(), nemesis.Nodes(),
				harness.Latency(50*time.Millisecond, 0)).Inject(ctx, rng())
			return s.echoes, err
		}
		echoes, err := slow(1)
		require.NoError(t, err)
		require.EqualValues(t, 3, echoes.Load(), "one before, a stall, and another look")
		_, err = slow(math.MaxInt32 - 1)
		require.ErrorContains(t, err, "delays it for longer")
	})
}

func TestDegradationsThatMakeNoSense(t *testing.T) {
	s := oneNode()
	clients, primary := nemesis.Clients(), nemesis.Primary()
	for want, n := range map[string]harness.Nemesis{
		"no link fault given":         nemesis.Degrade(s, clients, primary, harness.LinkFault{}),
		"latency is -1s: ask for 1ms": nemesis.Degrade(s, clients, primary, harness.Latency(-time.Second, 0)),
		"no links of":                 nemesis.Degrade(s, clients, clients, harness.Withhold()),
		"the same host":               nemesis.Degrade(s, primary, primary, harness.Withhold()),
		"no replicas":                 nemesis.Degrade(s, clients, nemesis.Replicas(), harness.Withhold()),
	} {
		inj, err := n.Inject(t.Context(), rng())
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
		if inj.Heal != nil {
			require.NoError(t, inj.Heal(t.Context()))
		}
	}
	require.Empty(t, s.links)
}
