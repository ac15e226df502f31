package reports

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

func runText(t *testing.T, r Report, l Layout) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, ReportText(&b, r, l))
	return b.String()
}

func TestACheckerThatWasNotAskedIsNotPrintedAsValid(t *testing.T) {
	r := Report{Judged: harness.Judged{Verdict: harness.Valid, Judgements: []harness.Judgement{
		{Checker: "mutex", Verdict: harness.Valid, Reason: "none overlap"},
		{Checker: "porcupine", NotNeeded: true, Reason: "all were too large"},
	}}}
	require.Contains(t, runText(t, r, Layout{Verbose: true}),
		"  mutex     valid     none overlap\n  porcupine abstained all were too large\n")
	require.Contains(t, runText(t, r, Layout{}), "\njudged    mutex valid; porcupine abstained on whole keys\n")
}

// The violation comes first. What checkers counted is shown only if asked for. Nothing is wider than the terminal.
func TestARunOnATerminal(t *testing.T) {
	r := Report{Judged: harness.Judged{Verdict: harness.Invalid,
		Totals: map[harness.Class]int{harness.DoubleGrant: 2},
		Anomalies: []harness.Anomaly{{Class: harness.DoubleGrant, Certified: true,
			Note: "client 57 was granted lock-3 by 5.207818s, while client 15 certainly held it from 5.204931s"}},
		Judgements: []harness.Judgement{
			{Checker: "mutex", Verdict: harness.Invalid, Reason: "2 double-grant",
				Figures: []harness.Figure{{Name: "grants", Value: 591}, {Name: "share", Value: 0.5, Unit: "%"}}},
			{Checker: "stuck", Verdict: harness.Valid, Reason: "all of 2 locks could be acquired"},
			{Checker: "gates", Verdict: harness.Valid, Reason: "contention"},
		},
		Situations: []harness.Situation{{Name: "lease ended inside", Count: 2}},
	}, Notes: []string{"a note of the run that is longer than a line of the terminal"}}
	require.Equal(t, `INVALID  Found 2 double-grant in 0 operations, the first at 0.000 s.
  the first double-grant, certified by porcupine:
    client 57 was granted lock-3 by 5.207818s, while client 15 certainly held it
    from 5.204931s
  note      a note of the run that is longer than a line of the terminal
ran       0 s; operations: 0 ok, 0 refused, 0 failed, 0 without an answer
judged    mutex invalid; stuck and gates valid
`, runText(t, r, Layout{}))
	verbose := runText(t, r, Layout{Verbose: true})
	require.Contains(t, verbose, "  mutex     invalid   2 double-grant\n                      grants 591, share 0.50 %\n")
	require.Contains(t, verbose, "  met: lease ended inside: 2\n")
	for line := range strings.Lines(runText(t, r, Layout{Width: 20, Verbose: true})) {
		require.True(t, units.Letters(strings.TrimRight(line, "\n")) <= 20 || len(strings.Fields(line)) == 1, line)
	}
}
