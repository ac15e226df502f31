package drawing

import (
	"testing"

	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"

	"github.com/stretchr/testify/require"
)

// TestAFaultThatTheRecordDoesNotSeeHealed is drawn to the end: the run was killed under it.
func TestAFaultThatTheRecordDoesNotSeeHealed(t *testing.T) {
	faults := analysistest.OneKill().Faults
	faults[0].Heal, faults[0].End = 0, 0
	bands := bandsOf(faults, -1, 20*sec)
	require.Len(t, bands, 1)
	require.Equal(t, band{class: "band", from: 10 * sec, to: 20 * sec, faults: []string{"1 kill-primary, from 10.000 s on: the record stops before its heal"}}, bands[0])
	faults[0].Groups = []int{0}
	require.Equal(t, "band cut", bandsOf(faults, 0, 20*sec)[0].class)
}
