package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

func TestAcceptsWritesLeavesNoTrace(t *testing.T) {
	c := cluster.Replicated(cluster.Options{})
	up(t, c)
	require.NoError(t, c.AcceptsWrites(t.Context(), "r1"))
	_, err := c.Do(t.Context(), "r1", "INCR", "later")
	require.NoError(t, err)
	var seen any
	eventually(t, func() bool {
		seen, err = c.Do(t.Context(), "r2", "INFO", "commandstats")
		return err == nil && strings.Contains(fmt.Sprint(seen), "cmdstat_incr:")
	}, "the replica never heard of the INCR")
	for _, command := range []string{"set", "del", "eval"} {
		require.NotContains(t, seen, "cmdstat_"+command+":", "the probe was replicated")
	}
	keys, err := c.Do(t.Context(), "r1", "KEYS", "*")
	require.NoError(t, err)
	require.Equal(t, []any{"later"}, keys)
}

func TestAcceptsWritesSaysWhyNot(t *testing.T) {
	c := cluster.Sentinel(cluster.Options{MinReplicas: 1, MaxLag: time.Second})
	up(t, c)
	require.NoError(t, c.AcceptsWrites(t.Context(), "r1"))
	require.ErrorContains(t, c.AcceptsWrites(t.Context(), "r2"), "READONLY")
	require.NoError(t, c.Kill("r2"))
	require.NoError(t, c.Kill("r3"))
	eventually(t, func() bool { return c.AcceptsWrites(t.Context(), "r1") != nil }, "writes without replicas are accepted")
	require.ErrorContains(t, c.AcceptsWrites(t.Context(), "r1"), "NOREPLICAS")
	require.NoError(t, c.Restart(t.Context(), "r2"))
	require.NoError(t, c.Restart(t.Context(), "r3"))
	whole(t, c)
	require.NoError(t, c.AcceptsWrites(t.Context(), "r1"))
}
