package explore

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func everyChoice() []Choice {
	all := []Choice{Expiry, Hold, Promote, Flush, Probe}
	for i := range MaxClients {
		all = append(all, Run(i), Crash(i))
	}
	return all
}

func TestEveryChoiceIsReadAsItWasWritten(t *testing.T) {
	seen := map[string]Choice{}
	for _, c := range everyChoice() {
		text, err := c.MarshalText()
		require.NoError(t, err)
		require.NotEmpty(t, text)
		require.NotContains(t, seen, string(text))
		seen[string(text)] = c
		var again Choice
		require.NoError(t, again.UnmarshalText(text))
		require.Equal(t, c, again, "%s", text)
	}
	b, err := json.Marshal([]Choice{Run(0), Crash(1), Expiry})
	require.NoError(t, err)
	require.JSONEq(t, `["client 1", "crash of client 2", "expiry"]`, string(b))
}

func TestWhatIsNoChoiceIsRefused(t *testing.T) {
	for _, text := range []string{"", "client", "client 0", "client 5", "client 1 ", "crash of", "crash of expiry", "crash of client 9", "Expiry"} {
		c := Run(3)
		require.ErrorContains(t, c.UnmarshalText([]byte(text)), "unknown choice", "%q", text)
		require.Equal(t, Run(3), c, "an error leaves it alone")
	}
}

func TestWhomAChoiceIsAbout(t *testing.T) {
	world := []Choice{Expiry, Hold, Promote, Flush, Probe}
	for _, c := range everyChoice() {
		_, ok := c.Client()
		require.Equal(t, !slices.Contains(world, c), ok, c)
	}
	for i := range MaxClients {
		for _, c := range []Choice{Run(i), Crash(i)} {
			who, ok := c.Client()
			require.True(t, ok)
			require.Equal(t, i, who)
			require.Equal(t, c == Crash(i), c.IsCrash())
		}
	}
	require.False(t, Expiry.IsCrash())
}

func TestABudgetInWords(t *testing.T) {
	require.Equal(t, "2 clients", Budget{Clients: 2}.String())
	require.Equal(t, "3 clients, at most 1 crash", Budget{Clients: 3, Crashes: 1}.String())
	require.Equal(t, "4 clients, at most 2 crashes, 1 expiry, 1 failover and 3 script flushes",
		Budget{Clients: 4, Crashes: 2, Expiries: 1, Failovers: 1, Flushes: 3}.String())
}
