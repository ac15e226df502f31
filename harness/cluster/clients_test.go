package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

func TestThousandsOfClientsFindTheirConnectionsOpen(t *testing.T) {
	for clients, want := range map[int]int{1000: 0, 1005: 201} {
		c := cluster.Standalone(cluster.Options{Clients: clients})
		up(t, c)
		r := connect(t, c, 0)
		require.Equal(t, want, c.Connections("r1"), "%d clients in five groups", clients)
		connect(t, c, 0)
		require.Equal(t, want, c.Connections("r1"), "they were opened again")
		require.NoError(t, r.Ping(t.Context()).Err())
		require.Equal(t, max(1, want), c.Connections("r1"), "one of them was to be used")
	}
}
