package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFaultsThatMayTouchSomebodyAreLeftAlone checks that a fault is allowed if it touches traffic only after a
// failover, or only for some random choices of hosts.
func TestFaultsThatMayTouchSomebodyAreLeftAlone(t *testing.T) {
	for _, text := range []string{
		"faults:\n  - fault: cut\n    to: nodes\n",
		"faults:\n  - fault: cut\n    to: r1\n",
		"faults:\n  - fault: cut\n    from: primary\n    to: r1\n",
		"faults:\n  - fault: cut\n    from: node\n    to: node\n",
		"faults:\n  - fault: cut\n    from: primary\n    to: clients\n",
		"faults:\n  - fault: latency\n    from: nodes\n    to: nodes\n",
		"faults:\n  - fault: latency\n    from: primary\n    to: replica\n", // either side may open the connections
		"faults:\n  - fault: one-way\n    from: replicas\n    to: primary\n",
		"faults:\n  - fault: one-way\n    from: r2\n    to: r1\n",
		"faults:\n  - fault: cut\n    from: sentinels\n    to: sentinels\n",
		"faults:\n  - fault: cut\n    from: clients\n    to: sentinel\n",
		"faults:\n  - fault: cut\n    from: primary\n    to: sentinels\n",
		"faults:\n  - fault: kill-primary\n  - fault: cut\n    to: r2\n",
		"faults:\n  - fault: partition-split-brain\n    track: other\n  - fault: cut\n    to: replicas\n",
		"nemesis: [kill-primary, client-kill-r2, memory-pressure-r3]\n",
		"nemesis: [client-kill-nodes, client-kill-r1, memory-pressure-r1, client-pause-writes-nodes]\n",
		"topology: standalone\nnemesis: [memory-pressure-nodes, client-kill-node]\n",
		"clients: 2\nnemesis: [freeze-clients, freeze-clients-g1, freeze-clients-clients]\n",
	} {
		_, err := planOf(t, "variant: lock/set-nx-px\n"+text)
		require.NoError(t, err, text)
	}
	const masters = "variant: lock/redlock\ntopology: masters:5\n"
	_, err := planOf(t, masters+"nemesis: [memory-pressure-minority, client-kill-r5, client-kill]\n")
	require.NoError(t, err)
	_, err = planOf(t, masters+"faults:\n  - fault: latency\n    from: nodes\n    to: nodes\n")
	require.ErrorIs(t, err, ErrUsage)
	require.ErrorContains(t, err, ":4: latency from nodes to nodes would have no effect: there are only connections "+
		"from clients to nodes")
}

func TestFaultsTooShortToBeSeenAreRefusedWithTheLeastTime(t *testing.T) {
	for name, least := range map[string]time.Duration{
		"partition-split-brain": 3 * time.Second, "partition-primary": 3 * time.Second,
		"partition-bridge":            3 * time.Second,
		"partition-primary-sentinels": 3 * time.Second, "partition-primary-sentinel": 2 * time.Second,
		"partition-primary-replicas": 4 * time.Second, "restart-primary-at-once": 2 * time.Second,
		"sentinel-failover": 2 * time.Second, "kill-replica": 200 * time.Millisecond,
	} {
		p := Plan{Variant: "lock/set-nx-px", Nemesis: []string{name}, FaultFor: least}
		require.NoError(t, p.Check(), name)
		p.FaultFor = least - time.Millisecond
		require.EqualError(t, p.Check(), fmt.Sprintf("usage: %s for %v is too short to be observed: ask for %v or more",
			name, p.FaultFor, least))
	}
	slow := Plan{Variant: "lock/set-nx-px", Nemesis: []string{"partition-split-brain"}, DownAfter: 4 * time.Second}
	require.ErrorContains(t, slow.Check(), "for 5s is too short to be observed: ask for 6s or more")
	for _, name := range []string{"pause-primary", "kill-primary", "client-pause-primary", "partition-clients-primary",
		"cut", "latency"} {
		require.NoError(t, Plan{Variant: "lock/set-nx-px", Nemesis: []string{name}, FaultFor: time.Second}.Check(),
			name)
	}
	alone := Plan{Variant: "lock/set-nx-px", Topology: Standalone, Nemesis: []string{"restart-primary-at-once"},
		FaultFor: time.Second}
	require.NoError(t, alone.Check(), "there are no Sentinels to watch")
}
