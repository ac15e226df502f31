package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestAnExpectationOfThePlanTakesThePlaceOfTheDocumentation(t *testing.T) {
	found := func(classes ...harness.Class) harness.Judged {
		j := harness.Judged{Verdict: harness.Valid, Totals: map[harness.Class]int{}}
		for _, c := range classes {
			j.Verdict, j.Totals[c] = harness.Invalid, 1
		}
		return j
	}
	for _, c := range []struct {
		expect Expected
		met    []harness.Judged
		not    []harness.Judged
	}{
		{Expected{Valid: true}, []harness.Judged{found()}, []harness.Judged{found("double-grant"), {}}},
		{
			Expected{Invalid: []harness.Class{"double-grant"}}, []harness.Judged{found("double-grant")},
			[]harness.Judged{found(), found("double-grant", "stolen-release"), found("stolen-release"), {}},
		},
		{
			Expected{Invalid: []harness.Class{"double-grant"}, May: []harness.Class{"stolen-release"}},
			[]harness.Judged{found("double-grant"), found("double-grant", "stolen-release")},
			[]harness.Judged{found("stolen-release"), found("double-grant", "stuck-lock"), found()},
		},
		{
			Expected{Valid: true, May: []harness.Class{"double-grant"}}, []harness.Judged{found(), found("double-grant")},
			[]harness.Judged{found("stuck-lock"), {}},
		},
	} {
		r, err := Plan{Variant: "lock/set-nx-px-blind-del", Expect: c.expect}.Resolve()
		require.NoError(t, err)
		for _, j := range c.met {
			require.True(t, r.Expectation().Met(j), "%v %v", c.expect, j)
		}
		for _, j := range c.not {
			require.False(t, r.Expectation().Met(j), "%v %v", c.expect, j)
		}
		dir := t.TempDir()
		require.NoError(t, r.Plan.Write(dir))
		back, err := ReadPlan(dir)
		require.NoError(t, err)
		require.Equal(t, c.expect, back.Expect, "a results folder says what was expected")
	}
}

// TestEveryClassCanBeExpected finds classes that a checker reports and no expectation can name.
func TestEveryClassCanBeExpected(t *testing.T) {
	for _, class := range []harness.Class{
		harness.DoubleGrant, harness.StolenRelease, harness.StuckLock, harness.StaleHolder, harness.DuplicateDelivery,
		harness.ImmortalMark, harness.LostMessage, harness.DuplicateNumber, harness.Regression, harness.FenceRegression,
		harness.ReturnedNotStored, harness.SequenceRestart, harness.TTLLost, harness.LostWrite, harness.UnexpectedWrite,
	} {
		require.Contains(t, allClasses(), class)
	}
	for _, c := range []struct {
		plan Plan
		has  harness.Class
	}{
		{Plan{Variant: "lock/fenced"}, harness.FenceRegression},
		{Plan{Variant: "lock/set-nx-px", Resource: true}, harness.StaleHolder},
		{Plan{Variant: "lock/set-nx-px", With: []string{"writes/sadd"}}, harness.LostWrite},
		{Plan{Variant: "sequence/incr"}, harness.TTLLost},
	} {
		r, err := c.plan.Resolve()
		require.NoError(t, err)
		require.Contains(t, r.findableClasses(), c.has)
	}
}
