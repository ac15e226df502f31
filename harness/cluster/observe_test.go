package cluster_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/internal/platformtest"
)

func TestWhichNodesTakeWritesAndWhomTheyServe(t *testing.T) {
	c := cluster.Sentinel(cluster.Options{ClientGroups: 2})
	ev := up(t, c)
	ctx := t.Context()
	r := connect(t, c, 1)
	require.ErrorIs(t, r.Get(ctx, "k").Err(), redis.Nil, "a read, which any replica answers")
	old, err := c.Primary(ctx)
	require.NoError(t, err)
	eventually(t, func() bool { return len(ev.Of(old, harness.EventWritable)) > 0 }, "the primary takes writes")
	require.Empty(t, ev.Of(old, harness.EventServesWrites), "nobody has written yet")
	require.NoError(t, r.Set(ctx, "k", "v", 0).Err())
	require.Equal(t, "g1", ev.Of(old, harness.EventServesWrites)[0].Detail)

	for _, n := range c.RedisNodes() {
		eventually(t, func() bool {
			has, err := c.Do(ctx, n, "EXISTS", "k")
			return err == nil && fmt.Sprint(has) == "1"
		}, n+" has the key")
	}

	require.NoError(t, c.Kill(old))
	promoted, err := c.AwaitPromotion(ctx, old)
	require.NoError(t, err)
	eventually(t, func() bool { return r.Set(ctx, "k", "v", 0).Err() == nil }, "a write after the failover")
	eventually(t, func() bool { return len(ev.Of(promoted, harness.EventWritable)) > 0 },
		"the new primary takes writes")
	require.Len(t, ev.Of(promoted, harness.EventServesWrites), 1)
	offset := func(node string) int {
		eventually(t, func() bool { return len(ev.Of(node, harness.EventOffset)) > 0 },
			node+" was in the replication stream")
		bytes, err := strconv.Atoi(ev.Of(node, harness.EventOffset)[0].Detail)
		require.NoError(t, err)
		return bytes
	}
	require.Positive(t, offset(promoted))
	require.GreaterOrEqual(t, offset(old), 0, "it may have been asked before anything was written")
	ceased, began, served := ev.Of(old, harness.EventUnwritable)[0], ev.Of(promoted, harness.EventWritable)[0],
		ev.Of(promoted, harness.EventServesWrites)[0]
	require.Less(t, ceased.At, began.At)
	require.Less(t, began.At, served.At+platformtest.Hang,
		"usually within the 10 ms between two questions of the observer")
	for _, kind := range []string{"+sdown", "+odown", "+switch-master"} {
		eventually(t, func() bool { return len(ev.Of("", kind)) > 0 }, kind+" is reported")
	}
	has := func(node, role string) func() bool {
		return func() bool {
			return slices.ContainsFunc(ev.Of(node, harness.EventRole),
				func(e harness.Event) bool { return e.Detail == role })
		}
	}
	eventually(t, has(old, "down"), "the old primary is down")
	eventually(t, has(promoted, "master"), "the new one is primary")
	for _, n := range c.RedisNodes() {
		if n != old && n != promoted {
			require.Empty(t, ev.Of(n, harness.EventWritable), "%s was a replica all along", n)
		}
		require.Regexp(t, `^127\.\d+\.2\.\d+ [678]379$`, ev.Of(n, harness.EventAddress)[0].Detail)
	}
}

func commands(t *testing.T, c *cluster.Cluster, node string) (n int) {
	t.Helper()
	info, err := c.Do(t.Context(), node, "INFO", "commandstats")
	require.NoError(t, err)
	if _, calls, found := strings.Cut(fmt.Sprint(info), "cmdstat_del:calls="); found {
		_, err = fmt.Sscanf(calls, "%d,", &n)
		require.NoError(t, err)
	}
	return n
}

// TestANodeThatStandsStillTakesNoWrites also checks that the node takes the waiting writes once it is resumed.
func TestANodeThatStandsStillTakesNoWrites(t *testing.T) {
	c := cluster.Sentinel(cluster.Options{DownAfter: 20 * time.Second})
	ev := up(t, c)
	ctx := t.Context()
	p, err := c.Primary(ctx)
	require.NoError(t, err)
	require.NoError(t, c.Pause(ctx, p))
	eventually(t, func() bool { return len(ev.Of(p, harness.EventUnwritable)) == 1 }, "it takes none")
	require.Equal(t, "no answer within 200ms", ev.Of(p, harness.EventUnwritable)[0].Detail)
	require.NoError(t, c.Resume(p))
	eventually(t, func() bool { return len(ev.Of(p, harness.EventWritable)) == 2 }, "it takes them again")
}

// TestLooksLeaveNoTrace checks that the writes with which the harness tests a node are neither stored nor replicated.
// If all connections are closed, also those of the harness, the node still counts as writable.
func TestLooksLeaveNoTrace(t *testing.T) {
	c := cluster.Sentinel(cluster.Options{})
	ev := up(t, c)
	ctx := t.Context()
	p, err := c.Primary(ctx)
	require.NoError(t, err)
	before := commands(t, c, p)
	require.NoError(t, c.AcceptsWrites(ctx, p))
	eventually(t, func() bool { return commands(t, c, p) > before+20 }, "the observer writes")
	_, err = c.Do(ctx, p, "INCR", "later")
	require.NoError(t, err)
	for _, n := range c.RedisNodes() {
		var seen any
		eventually(t, func() bool {
			seen, err = c.Do(ctx, n, "INFO", "commandstats")
			return err == nil && strings.Contains(fmt.Sprint(seen), "cmdstat_incr:")
		}, n+" never heard of the INCR")
		keys, err := c.Do(ctx, n, "KEYS", "*")
		require.NoError(t, err)
		require.Equal(t, []any{"later"}, keys)
		if n != p {
			require.Contains(t, seen, "cmdstat_del:calls=0,", "no replica has executed the observer's")
			require.NotRegexp(t, "cmdstat_(set|eval):", seen, "the probe was replicated")
		}
	}
	for range 5 {
		killed, err := c.Do(ctx, p, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		require.NoError(t, err)
		require.NotEqual(t, "0", fmt.Sprint(killed))
		before := commands(t, c, p)
		eventually(t, func() bool { return commands(t, c, p) > before+10 }, "the observer goes on")
	}
	require.NotEmpty(t, ev.Of(p, harness.EventWritable))
	require.Empty(t, ev.Of(p, harness.EventUnwritable))
}
