package suite

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/suite/tally"
)

func TestARunThatFailsAfterAViolationThatNobodyExpectedIsNotMet(t *testing.T) {
	out := results.Outcome{Expectation: plan.Expectation{May: []harness.Class{harness.LostWrite}}}
	broken := errors.New("the cluster stays broken")
	for class, want := range map[harness.Class]tally.Ending{harness.LostWrite: tally.Failed, harness.DoubleGrant: tally.NotMet} {
		out.Report.Judged = harness.Judged{Verdict: harness.Invalid, Totals: map[harness.Class]int{class: 1}}
		run := suiteRun(out, broken)
		require.Equal(t, want, run.Ending, class)
		require.Contains(t, run.Why, "the cluster stays broken")
		require.Equal(t, want == tally.NotMet, strings.Contains(run.Why, "found 1 double-grant"), run.Why)
	}
}
