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
	require.Equal(t, "2 clients, at most 1 stop before a lease's end, 1 lost answer, 2 lost commands and 1 late "+
		"command",
		Budget{Clients: 2, LostAnswers: 1, LostCommands: 2, Late: 1, Approaches: 1}.String())
}

func TestFaultsOfABudget(t *testing.T) {
	require.Zero(t, Budget{Clients: 3, Place: 5}.Faults())
	b := Budget{Clients: 3, Crashes: 1, Expiries: 2, Failovers: 1, Flushes: 3, LostAnswers: 4,
		LostCommands: 5, Late: 6, Place: 7}
	require.Equal(t, 22, b.Faults())
	b.Approaches = 2
	require.Equal(t, 22+2+1, b.Faults(), "and one slow script")
	left := Budget{Crashes: 1, Flushes: 1, Late: 2}
	require.Equal(t, Budget{Clients: 3, Expiries: 2, Approaches: 2, Failovers: 1, Flushes: 2, LostAnswers: 4,
		LostCommands: 5, Late: 4, Place: 7}, b.Without(left))
}
