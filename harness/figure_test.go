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
	value := func(m harness.Metric) float64 {
		v, err := j.Figure(m)
		require.NoError(t, err)
		return v
	}
	require.Equal(t, 2.0, value(lost))
	require.Equal(t, 1.0, value(seldom.In(3)))
	require.Equal(t, 0.0, value(seldom.In(4)), "it is left out where it is 0")
	_, err := j.Figure(harness.Metric{Checker: "writes", Name: "last"})
	require.EqualError(t, err, `the checker writes reports no "last"`)
	_, err = j.Figure(harness.Metric{Checker: "gates", Name: "info", Sparse: true})
	require.EqualError(t, err, `the checker gates, which reports "info", did not run`)
}
