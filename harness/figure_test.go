package harness_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestAFigureThatIsMissingIsAnError(t *testing.T) {
	lost := harness.Metric{Checker: "writes", Name: "lost"}
	seldom := harness.Metric{Checker: "writes", Name: "lost from group %d", Sparse: true}
	j := harness.Judged{Judgements: []harness.Judgement{
		{Checker: "mutex", Figures: []harness.Figure{lost.Count(7)}},
		{Checker: "writes", Figures: []harness.Figure{lost.Count(2), seldom.In(3).Count(1)}},
	}}
	// it is omitted if it is 0
	for m, want := range map[harness.Metric]float64{lost: 2, seldom.In(3): 1, seldom.In(4): 0} {
		v, err := j.Figure(m)
		require.NoError(t, err)
		require.Equal(t, want, v, m)
	}
	_, err := j.Figure(harness.Metric{Checker: "writes", Name: "last"})
	require.EqualError(t, err, `the checker writes reports no "last"`)
	_, err = j.Figure(harness.Metric{Checker: "gates", Name: "info", Sparse: true})
	require.EqualError(t, err, `the checker gates, which reports "info", did not run`)
}
