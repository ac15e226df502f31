package cli

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/reports"
)

// manyOps is more operations than a run of the tour makes.
const manyOps = 987_654

// toldTour returns a tour in which every line is as long as it can be.
func toldTour() (s story) {
	for _, p := range plan.Demo().Pairs {
		s.pairs = append(s.pairs, toldScene(p))
	}
	for _, n := range plan.Demo().Numbers {
		told := toldScene(n)
		told.row.First = "call 178 of seq-0 returned 26112818014764948, which call 177 had returned"
		s.numbers = append(s.numbers, told)
	}
	for _, f := range plan.Demo().Failovers {
		told := toldScene(f)
		var stages []analysis.Stage
		for i, m := range analysis.Milestones() {
			stages = append(stages, analysis.Stage{Name: m, Seen: true, After: time.Duration(i) * 1400 * time.Millisecond})
		}
		told.ran.Failovers = []analysis.Failover{{Stages: stages, Servers: analysis.Downtime{BothWritable: 4560 * time.Millisecond},
			Outage: analysis.Outage{Seen: true, To: 2340 * time.Millisecond}}}
		s.failovers = append(s.failovers, told)
	}
	return s
}

func toldScene(of plan.Scene) scene {
	s := scene{Scene: of, first: 98700 * time.Microsecond}
	if of.Search.Variant == "" {
		s.ran.Judged.Verdict = harness.Valid
		s.ran.Stats.Totals.OK = manyOps
		if !of.Right {
			s.ran.Judged.Verdict = harness.Invalid
			s.ran.Judged.Totals = map[harness.Class]int{harness.DoubleGrant: manyOps, harness.LostWrite: 1000}
		}
		return s
	}
	s.searched = &reports.Exploration{Result: interleave.Result{Schedules: 3111, Exhausted: true}}
	if !of.Right {
		steps := make([]interleave.Step, 5)
		for i := range steps {
			steps[i] = interleave.Step{Number: i + 1, Client: 1, Command: "SET lock client-12 ex 10 NX", Reply: "OK",
				Belief: "holds lock until 20.001s"}
		}
		s.searched.Result.Counterexamples = []interleave.Counterexample{{Steps: steps, Anomaly: harness.Anomaly{
			Class: harness.StolenRelease, Note: "client 3 was granted lock by 10.001005s, while client 2 certainly held it " +
				"from 10.001003s until 10.001006s; and more"}}}
	}
	return s
}

func TestTheTourFitsOneScreen(t *testing.T) {
	text := toldTour().String()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	require.LessOrEqual(t, len(lines), 46, "an empty line, two sentences and a prompt follow on a screen of 50:\n%s", text)
	for _, l := range lines {
		require.LessOrEqual(t, utf8.RuneCountInString(l), storyWidth, l)
		require.Equal(t, strings.TrimRight(l, " "), l)
	}
	require.Contains(t, text, "16081817202494579 is a double, stored as ...580")
	require.Contains(t, text, "two primaries for 4.56 s, no answer for 2.34 s")
	require.NotContains(t, text, "valid", "what one search or load does not break, another may")
}

// The tour shows the steps of the counterexample that its table names, even if the search found a smaller one.
func TestTheTourTellsTheCounterexampleOfItsTable(t *testing.T) {
	s := toldTour()
	found := &s.pairs[0].searched.Result.Counterexamples
	smaller := interleave.Counterexample{Steps: []interleave.Step{{Number: 1, Client: 1, Command: "DEL other"}},
		Anomaly: harness.Anomaly{Class: harness.DoubleGrant, Note: "another"}}
	*found = append([]interleave.Counterexample{smaller}, *found...)
	text := s.String()
	require.Contains(t, text, "- SET NX PX, given up by DEL        stolen-release in 5 steps")
	require.Contains(t, text, "  5  client 1  SET lock client-12 ex 10 NX")
	require.NotContains(t, text, "DEL other")

	*found = (*found)[:1]
	text = s.String()
	require.Contains(t, text, "- SET NX PX, given up by DEL        double-grant in 1 steps")
	require.Contains(t, text, "DEL other")
}

// A naive algorithm that was not broken, or a failover that did not happen, leaves a line that says so.
func TestTheTourIsToldWithoutWhatDidNotHappen(t *testing.T) {
	s := toldTour()
	s.pairs[0].searched.Result = interleave.Result{}
	s.failovers[0].ran.Failovers = nil
	s.numbers[0].ran.Judged, s.numbers[0].row.First = harness.Judged{}, ""
	text := s.String()
	require.Contains(t, text, "- SET NX PX, given up by DEL        nothing can be said\n")
	require.Contains(t, text, "- compared as text, 23 proposed     nothing can be said\n")
	require.Regexp(t, `A REPLICA TAKES OVER +the primary is killed\n`, text)
	require.NotContains(t, text, "A LOCK THAT TWO OWN")
}

// Each bar begins where the one before ends.
func TestStagesOfAFailoverAreAWaterfall(t *testing.T) {
	var f analysis.Failover
	for i, m := range []analysis.Milestone{analysis.Suspect, analysis.Agreed, analysis.Elected, analysis.Promoted,
		analysis.Writable, analysis.Rejoined} {
		f.Stages = append(f.Stages, analysis.Stage{Name: m, Seen: m != analysis.Elected,
			After: time.Duration(i+1) * 400 * time.Millisecond})
	}
	var all []string
	for i := range stages {
		all = append(all, strings.TrimRight(bar(f, i), " "))
	}
	require.Equal(t, []string{
		" 0.40 s ###", " 0.80 s    ####", "     -", " 1.60 s        #######", " 2.00 s               ####",
		" 2.40 s                 >>",
	}, all)
}
