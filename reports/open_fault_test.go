package reports

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
)

// TestAFaultThatTheRecordDoesNotSeeHealed is said to be open: the run was killed under it.
func TestAFaultThatTheRecordDoesNotSeeHealed(t *testing.T) {
	h := analysistest.OneKill()
	h.Faults[0].Heal, h.Faults[0].End = 0, 0
	h.End = nil
	r := report(t, h, valid())
	page := textOf(t, HTML, r)
	require.Contains(t, page, "not on record")
	require.Contains(t, page, "never seen")
	require.Equal(t, 1590*ms, r.Failovers[0].Stage(analysis.Switched).After)

	h.Faults[0].Groups = []int{0}
	h.Faults = append(h.Faults, harness.Fault{Number: 2, Name: "later", Start: 15 * sec})
	require.Len(t, analysis.Failovers(h), 1)
}
