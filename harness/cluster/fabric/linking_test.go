package fabric_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// What toxiproxy keeps for the whole process, as it was before any test ran.
var linkedToxics = slices.Collect(maps.Keys(toxics.ToxicRegistry))

// Whoever links the fabric keeps toxiproxy's toxics as they were, until the first fabric is made.
func TestTheProcessIsChangedByAFabricOnly(t *testing.T) {
	ours := func(all []string) (n int) {
		for _, name := range all {
			if strings.HasPrefix(name, "doublegrant-") {
				n++
			}
		}
		return n
	}
	require.Contains(t, linkedToxics, "latency")
	require.Zero(t, ours(linkedToxics))
	require.NoError(t, fabric.New().Close())
	require.Equal(t, 6, ours(slices.Collect(maps.Keys(toxics.ToxicRegistry))))
}
