package interleave

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABudgetInWords(t *testing.T) {
	require.Equal(t, "2 clients", Budget{Clients: 2}.String())
	require.Equal(t, "3 clients, at most 1 crash", Budget{Clients: 3, Crashes: 1}.String())
	require.Equal(t, "4 clients, at most 2 crashes, 1 expiry, 1 failover and 3 script flushes",
		Budget{Clients: 4, Crashes: 2, Expiries: 1, Failovers: 1, Flushes: 3}.String())
	require.Equal(t, "2 clients, at most 1 stop in a lease's last instant, 1 lost answer, 2 lost commands and 1 late command",
		Budget{Clients: 2, LostAnswers: 1, LostCommands: 2, Late: 1, Approaches: 1}.String())
}
