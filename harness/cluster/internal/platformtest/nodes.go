package platformtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

// Trials returns how often to repeat a measurement: $DOUBLEGRANT_TRIALS, or the given number.
func Trials(usual int) int {
	n, err := strconv.Atoi(os.Getenv("DOUBLEGRANT_TRIALS"))
	if err != nil {
		return usual
	}
	return n
}

// OneFailover kills the primary, and checks that every Sentinel sees a failover and that the old primary comes back.
func (p Platform) OneFailover(t *testing.T) {
	ctx := t.Context()
	o := p.Options
	o.LogDir = t.TempDir()
	c := cluster.Sentinel(o)
	ev := p.Up(t, c)
	r := Connect(t, c, 0)
	require.NoError(t, r.Set(ctx, "k", "before", 0).Err())
	old, err := c.Primary(ctx)
	require.NoError(t, err)
	killed := time.Now()
	require.NoError(t, c.Kill(old))
	gone := time.Since(killed)
	require.False(t, c.Running(old))
	_, err = c.AwaitPromotion(ctx, old) // an election that nobody wins is followed by another, six seconds later
	require.NoError(t, err)
	Eventually(t, func() bool { return r.Set(ctx, "k", "after", 0).Err() == nil }, "a write after the failover")
	t.Logf("killed in %v; first write %v after the kill", gone, time.Since(killed))

	restarted := time.Now()
	require.NoError(t, c.Restart(ctx, old))
	Whole(t, c)
	t.Logf("whole %v after the restart", time.Since(restarted))
	role, err := c.Role(ctx, old)
	require.NoError(t, err)
	// If the machine stands still for longer than Sentinels wait, they replace the new primary as well, perhaps by the
	// old one.
	if promoted := ev.Of("", "+promoted-slave"); len(promoted) == 1 {
		require.Equal(t, "slave", role)
	} else {
		require.NotEmpty(t, promoted)
	}
	for _, name := range c.Sentinels() {
		Eventually(t, func() bool { return len(ev.Of(name, "+switch-master")) > 0 }, "a Sentinel did not follow")
	}
	for _, name := range append(c.RedisNodes(), c.Sentinels()...) {
		log, err := os.ReadFile(filepath.Join(o.LogDir, name+".log"))
		require.NoError(t, err)
		require.Contains(t, string(log), "Running mode=", "of %s", name)
	}
}

// TakesItsClients checks that a node accepts as many clients as configured. A redis-server that may not open enough
// files lowers its maxclients, and only logs that.
func (p Platform) TakesItsClients(t *testing.T) {
	o := p.Options
	o.Clients = 50
	c := cluster.Standalone(o)
	p.Up(t, c)
	said, err := c.Do(t.Context(), "r1", "CONFIG", "GET", "maxclients")
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(said), "1400")
}
