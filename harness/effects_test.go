package harness_test

import (
	"encoding/json"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestEffectsAreASet(t *testing.T) {
	e := harness.EndsProcess | harness.StartsProcess
	require.True(t, e.Has(harness.EndsProcess))
	require.True(t, e.Has(harness.EndsProcess|harness.StartsProcess))
	require.False(t, e.Has(harness.EndsProcess|harness.CutsLinks))
	require.True(t, e.Any(harness.EndsProcess|harness.CutsLinks))
	require.False(t, e.Any(harness.CutsLinks|harness.StopsProcess))
	require.Equal(t, "ends-process, starts-process", e.String())
	require.Empty(t, harness.Effects(0).String())
}

// TestEveryEffectHasANameOfItsOwn guards against an effect that would be written as an empty name.
func TestEveryEffectHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for e := harness.EndsProcess; e <= harness.StopsClients; e <<= 1 {
		require.Equal(t, 1, bits.OnesCount32(uint32(e)))
		require.NotEmpty(t, e.String())
		require.False(t, seen[e.String()], "%v is there twice", e)
		seen[e.String()] = true
	}
}

func TestFaultsKeepTheirEffects(t *testing.T) {
	for text, f := range map[string]harness.Fault{
		`"effects":["stops-process","cuts-links"]`: {Name: "drill", Effects: harness.StopsProcess | harness.CutsLinks},
		`{"name":"of an older program","start":0`:  {Name: "of an older program"},
	} {
		b, err := json.Marshal(f)
		require.NoError(t, err)
		require.Contains(t, string(b), text)
		var back harness.Fault
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, f, back)
	}
	err := json.Unmarshal([]byte(`{"name":"mine","effects":["end-process"]}`), &harness.Fault{})
	require.ErrorContains(t, err, `unknown effect "end-process" of a fault: choose from ends-process, `)
}
