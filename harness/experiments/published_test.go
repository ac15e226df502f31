package experiments

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/doublegrant/doublegrant/reports"
)

const twoArms = `
name: x
measures: [lost, refused]
arms: [{name: a}, {name: b}]
finding: "{{figure \"a\" \"lost\"}} lost, {{printf \"%.1f\" (ruleOfThree (total \"b\" \"lost\"))}} %"
expect: [`

// readOne reads an experiment with two arms and one expectation.
func readOne(t *testing.T, expect string) (Experiment, error) {
	t.Helper()
	var e Experiment
	require.NoError(t, yaml.Unmarshal([]byte(twoArms+expect+"]"), &e))
	return e, e.prepare()
}

func TestExpectationsBoundFigures(t *testing.T) {
	lost := []reports.Range{{Min: 1, Median: 2, Max: 4, N: 3}, {Min: 0, Median: 5, Max: 5, N: 3}}
	for expect, want := range map[string]bool{
		"":                                                                      true,
		"{arm: a, measure: lost, above: 0}":                                     true,
		"{arm: a, measure: lost, above: 1}":                                     false,
		"{arm: a, measure: lost, atLeast: 1}":                                   true,
		"{arm: a, measure: lost, atMost: 4}":                                    true,
		"{arm: a, measure: lost, atMost: 3}":                                    false,
		"{arm: b, measure: lost, above: 0}":                                     false,
		"{arm: b, measure: refused, atMost: 0}":                                 true,
		"{arm: b, measure: refused, atLeast: 0.5}":                              false,
		"{arm: a, measure: lost, in: some, above: 3}":                           true,
		"{arm: a, measure: lost, in: some, atMost: 1}":                          true,
		"{arm: a, measure: lost, in: some, above: 4}":                           false,
		"{arm: a, measure: lost, in: median, above: 1}":                         true,
		"{arm: a, measure: lost, in: median, above: 2}":                         false,
		"{arm: a, measure: lost, in: median, belowArm: b}":                      true,
		"{arm: b, measure: lost, in: median, belowArm: a}":                      false,
		"{arm: a, measure: lost, above: 0, atMost: 3}":                          false,
		"{arm: a, measure: lost, above: 0}, {arm: b, measure: lost, atMost: 0}": false,
	} {
		e, err := readOne(t, expect)
		require.NoError(t, err, expect)
		arms := []reports.Arm{
			{Name: "a", Ranges: []reports.Range{lost[0], {}}},
			{Name: "b", Ranges: []reports.Range{lost[1], {}}},
		}
		matches, finding, err := e.shape(armFigures{e, arms})
		require.NoError(t, err, expect)
		require.Equal(t, want, matches, expect)
		require.Equal(t, "2 (1 to 4) lost, 20.0 %", finding)
	}
}

func TestAnExperimentThatNamesWhatIsNotThereIsRefused(t *testing.T) {
	for expect, want := range map[string]string{
		"{arm: c, measure: lost}":                "no arm \"c\" with a measure \"lost\"",
		"{arm: a, measure: acknowledged}":        "no arm \"a\" with a measure \"acknowledged\"",
		"{arm: a, measure: lost, in: many}":      "in: many: choose some or median",
		"{arm: a, measure: lost, belowArm: nil}": "no arm \"nil\"",
	} {
		_, err := readOne(t, expect)
		require.ErrorContains(t, err, want, expect)
	}
	_, err := measureNamed("los")
	require.ErrorContains(t, err, `unknown measure "los": did you mean lost, or`)
}

// TestTheProjectsFiguresHaveTheirShape checks the figures that split-brain-guards shows beside its arms.
func TestTheProjectsFiguresHaveTheirShape(t *testing.T) {
	e, err := Find("split-brain-guards")
	require.NoError(t, err)
	arms := e.emptyArms()
	for i, a := range arms {
		for m, text := range a.Published {
			if value, err := strconv.ParseFloat(text, 64); err == nil {
				arms[i].Ranges[m] = reports.RangeOf([]float64{value})
			}
		}
	}
	matches, finding, err := e.shape(armFigures{e, arms})
	require.NoError(t, err)
	require.True(t, matches, finding)
	require.Equal(t, "without a guard 401 writes are lost and 194 locks granted twice; with min-replicas 1 124; "+
		"with WAIT 2 0, with WAIT 1 and min-replicas 1 0", finding)
	arms[0].Ranges[1] = reports.RangeOf([]float64{124}) // no more than with a guard
	matches, _, err = e.shape(armFigures{e, arms})
	require.NoError(t, err)
	require.False(t, matches)
}
