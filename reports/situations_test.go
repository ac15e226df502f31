package reports

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestSituationsAreInEveryReport(t *testing.T) {
	met := harness.Situation{Name: harness.ReleaseAfterLease, Count: 1234,
		Example: []harness.Op{{Kind: harness.Release, Key: "k"}}}
	all := []harness.Situation{met, {Name: harness.ExtendAfterLease}, {Name: harness.ExtendInLease}}
	require.Equal(t, []string{
		"met: release after the lease: 1,234", "never met: extend after the lease; extend inside the lease",
	}, SituationsText(all))
	require.Empty(t, SituationsText(nil))
	require.Len(t, SituationsText(all[:1]), 1)

	r := Report{Name: "r", Judged: harness.Judged{Situations: all}}
	for _, text := range []string{textOf(t, HTML, r), textOf(t, Summary, r)} {
		for _, want := range []string{"release after the lease", "1,234", "extend after the lease", "never"} {
			require.Contains(t, text, want)
		}
	}
	require.Equal(t, all, DocumentOf(r).Situations)
	require.NotContains(t, textOf(t, HTML, Report{Name: "r"}), "Situations")
}
