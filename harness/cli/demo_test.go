package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/reports"
)

// TestAValidLoadOfABrokenLockSaysWhatTheExplorerFound checks the demo's list of findings.
func TestAValidLoadOfABrokenLockSaysWhatTheExplorerFound(t *testing.T) {
	broken := interleave.Counterexample{Steps: make([]interleave.Step, 8)}
	searches := []results.Searched{
		{Exploration: reports.Exploration{Variant: "lock/set-nx-px",
			Result: interleave.Result{Found: []interleave.Counterexample{broken}}},
			Search: plan.Search{Bounds: interleave.Bounds{Failovers: 1}}},
		{Exploration: reports.Exploration{Variant: "lock/setnx-expire",
			Result: interleave.Result{Found: []interleave.Counterexample{broken}}}},
	}
	load := func(variant string, v harness.Verdict) results.Outcome {
		return results.Outcome{Plan: plan.Plan{Variant: variant},
			Report: reports.Report{Judged: harness.Judged{Verdict: v}}}
	}
	require.Contains(t, onlyExplored(load("lock/setnx-expire", harness.Valid), searches),
		"the explorer did, in 8 steps")
	require.Empty(t, onlyExplored(load("lock/setnx-expire", harness.Invalid), searches), "the load says it itself")
	require.Empty(t, onlyExplored(load("lock/set-nx-px", harness.Valid), searches),
		"only a failover breaks it, and the load had none")
}

// An undecided run is not the variant's fault.
func TestTheDemoTellsWhatIsWrongFromWhatIsUnknown(t *testing.T) {
	load := func(met bool, v harness.Verdict) results.Outcome {
		return results.Outcome{Met: met, Report: reports.Report{Judged: harness.Judged{Verdict: v}}}
	}
	good, broken, slow := load(true, harness.Invalid), load(false, harness.Invalid), load(false, harness.Unknown)
	found := results.Searched{Exploration: reports.Exploration{Met: true}}
	// not documented
	unexpected := results.Searched{Exploration: reports.Exploration{Result: interleave.Result{Found: make([]interleave.Counterexample, 1)}}}
	require.Equal(t, "Every variant did what its documentation says.",
		demoEnding([]results.Outcome{good}, []results.Searched{found}))
	require.Contains(t, demoEnding([]results.Outcome{good, slow}, []results.Searched{found}),
		"Of 1 run nothing can be said")
	require.Contains(t, demoEnding([]results.Outcome{slow, broken}, []results.Searched{found}), "NOT every variant")
	require.Contains(t, demoEnding([]results.Outcome{slow}, []results.Searched{unexpected}), "NOT every variant")
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
