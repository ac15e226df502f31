package nemesis

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// TestEveryFaultDeclaresItsEffects checks that every fault has effects, since reports and checkers go by these.
func TestEveryFaultDeclaresItsEffects(t *testing.T) {
	for name, want := range map[string]harness.Effects{
		"kill": harness.EndsProcess, "restart": harness.EndsProcess,
		"restart-at-once": harness.EndsProcess | harness.StartsProcess,
		"client-kill":     harness.EndsConnections, "partition": harness.CutsLinks, "cut": harness.CutsLinks,
		"latency": harness.SlowsLinks, "sentinel-failover": harness.MovesPrimary,
		"sentinel-crash-after-promotion": harness.MovesPrimary | harness.EndsProcess,
	} {
		require.Equal(t, want, effectsOf(t, name), name)
	}
	for _, e := range Entries() {
		require.NotZero(t, effectsOf(t, e.Base()), e.Name)
		for _, name := range e.Takes {
			require.True(t, e.Defaults.value(name).IsValid(), "%s takes %q, which is no parameter", e.Name, name)
		}
	}
}

func effectsOf(t *testing.T, name string) harness.Effects {
	t.Helper()
	i := slices.IndexFunc(Entries(), func(e Entry) bool { return e.Base() == name })
	require.GreaterOrEqual(t, i, 0, name)
	f, wrong, err := Entries()[i].With(Parameters{}, 0, false)
	require.NoError(t, err, "%s of %s", wrong, name)
	n := f.Make(Subject{struct{ Cluster }{}, &harness.Fleet{}}) // nothing is asked of it before it is injected
	require.Implements(t, (*harness.Effective)(nil), n, name)
	return n.(harness.Effective).Effects()
}
