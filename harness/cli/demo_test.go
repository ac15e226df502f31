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

// TestAValidLoadOfABrokenLockSaysWhatTheExplorerFound in the demo's list of what was found.
func TestAValidLoadOfABrokenLockSaysWhatTheExplorerFound(t *testing.T) {
	broken := interleave.Counterexample{Steps: make([]interleave.Step, 8)}
	searches := []results.Searched{
		{Exploration: reports.Exploration{Variant: "lock/set-nx-px", Result: interleave.Result{Found: []interleave.Counterexample{broken}}}, Search: plan.Search{Failovers: 1}},
		{Exploration: reports.Exploration{Variant: "lock/setnx-expire", Result: interleave.Result{Found: []interleave.Counterexample{broken}}}},
	}
	load := func(variant string, v harness.Verdict) results.Outcome {
		return results.Outcome{Plan: plan.Plan{Variant: variant}, Report: reports.Report{Judged: harness.Judged{Verdict: v}}}
	}
	require.Contains(t, onlyExplored(load("lock/setnx-expire", harness.Valid), searches), "the explorer did, in 8 steps")
	require.Empty(t, onlyExplored(load("lock/setnx-expire", harness.Invalid), searches), "the load says it itself")
	require.Empty(t, onlyExplored(load("lock/set-nx-px", harness.Valid), searches), "only a failover breaks it, and the load had none")
}
