package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/reports"
)

// An undecided run is not the variant's fault.
func TestTheDemoTellsWhatIsWrongFromWhatIsUnknown(t *testing.T) {
	made := func(title string, met bool, v harness.Verdict) scene {
		return scene{Scene: plan.Scene{Title: title}, row: reports.Row{Met: met, Verdict: v}}
	}
	good, broken := made("good", true, harness.Invalid), made("odd", false, harness.Invalid)
	slow := made("slow", false, harness.Unknown)
	require.Equal(t, "Everything is as documented.", demoEnding([]scene{good}))
	require.Contains(t, demoEnding([]scene{good, slow}), "Nothing can be said of: slow.")
	require.Equal(t, "NOT as documented: odd.", demoEnding([]scene{slow, broken}))
}

func TestRowsOfTablesSayWhatIsDocumented(t *testing.T) {
	require.Equal(t, "cannot tell", asDocumented(reports.Row{Expected: "valid", Verdict: harness.Unknown}))
	require.Equal(t, "NO", asDocumented(reports.Row{Expected: "valid", Verdict: harness.Invalid}))
	for _, c := range []struct {
		run           reports.Row
		met           bool
		says          harness.Verdict
		want, because string
	}{
		{reports.Row{Verdict: harness.Unknown}, true, harness.Valid, "cannot tell",
			"the run has shown nothing, whatever the explorer says"},
		{reports.Row{Verdict: harness.Unknown}, false, harness.Invalid, "NO",
			"the explorer has found what is not documented"},
		{reports.Row{Verdict: harness.Valid, Met: true}, false, harness.Unknown, "cannot tell",
			"the search was cut short"},
		{reports.Row{Verdict: harness.Invalid}, false, harness.Unknown, "NO",
			"the run has found what is not documented"},
		{reports.Row{Verdict: harness.Valid, Met: true}, false, harness.Valid, "NO",
			"the explorer has not found what is documented"},
		{reports.Row{Verdict: harness.Valid, Met: true}, true, harness.Valid, "yes", ""},
	} {
		c.run.Expected = "valid"
		c.run.AddExplorer("4 steps", c.met, c.says)
		require.Equal(t, c.want, asDocumented(c.run), c.because)
	}
	require.Equal(t, "-", asDocumented(reports.Row{Verdict: harness.Unknown}))
}
