package suite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/reports"
)

func TestARunWhoseFailoversTakeTooLong(t *testing.T) {
	writes := func(after ...time.Duration) (all []tally.Failover) {
		for _, d := range after {
			all = append(all, tally.Failover{Times: map[string]time.Duration{"first write": d}})
		}
		return all
	}
	const s = time.Second
	answers := func(all ...tally.Range) (list []tally.Failover) {
		for _, r := range all {
			list = append(list, tally.Failover{Ranges: map[string]tally.Range{"no client that asked was answered": r}})
		}
		return list
	}
	unseen := func(n int, after ...time.Duration) []tally.Failover {
		return append(writes(after...), make([]tally.Failover, n)...)
	}
	ten := writes(s, s, s, s, s, s, s, s, 2*s, 9*s)
	for _, c := range []struct {
		name   string
		limit  Threshold
		of     []tally.Failover
		ending tally.Ending
		why    string
	}{
		{"at the bound", Threshold{FirstWrite: 2 * s, At: "p90"}, ten, tally.Met, ""},
		{"beyond it", Threshold{FirstWrite: 1999 * time.Millisecond, At: "p90"}, ten, tally.NotMet,
			"the first write of a client came 2.00 s after the fault, the p90 of 10 failovers; the limit is 1.999s"},
		{"the largest counts by itself", Threshold{FirstWrite: 3 * s}, ten, tally.NotMet,
			"the first write of a client came 9.00 s after the fault, the longest of 10 failovers; the limit is 3s"},
		{"the median", Threshold{FirstWrite: s, At: "median"}, ten, tally.Met, ""},
		{"no failover", Threshold{FirstWrite: 3 * s}, nil, tally.Undecided,
			"the run had no failover, so nothing is known of \"first write\", whose limit is 3s"},
		{"none that shows it", Threshold{NoAnswers: 3 * s}, writes(s), tally.Undecided,
			"\"no client that asked was answered\" was not measured in any of 1 failover; its limit is 3s"},
		{"one bound is exceeded, another not shown", Threshold{NoAnswers: s, TakesWrites: s, FirstWrite: s},
			writes(2 * s), tally.NotMet,
			"the first write of a client came 2.00 s after the fault; the limit is 1s"},
		{"a write of the harness", Threshold{TakesWrites: s}, []tally.Failover{{Times: map[string]time.Duration{
			"takes writes": 2 * s}}}, tally.NotMet,
			"the new primary took its first write 2.00 s after the fault; the limit is 1s"},
		{"a range beyond it", Threshold{NoAnswers: 2 * s},
			answers(tally.Range{Least: s, Most: s}, tally.Range{Least: 8 * s, Most: 10 * s}), tally.NotMet,
			"no client that asked was answered for at least 8.00 s, the longest of 2 failovers; the limit is 2s"},
		{"a range across it", Threshold{NoAnswers: 2 * s},
			answers(tally.Range{Least: s, Most: s}, tally.Range{Least: s, Most: 10 * s}), tally.Undecided,
			"\"no client that asked was answered\": for only 1 of 2 failovers is it known whether they kept the limit of 2s"},
		{"only a range across it", Threshold{NoAnswers: 2 * s}, answers(tally.Range{Least: s, Most: 10 * s}),
			tally.Undecided,
			"\"no client that asked was answered\" was not measured in any of 1 failover; its limit is 2s"},
		{"a range within it", Threshold{NoAnswers: 2 * s}, answers(tally.Range{Least: s, Most: 2 * s}), tally.Met, ""},
		{"one never recovers", Threshold{FirstWrite: 3 * s}, unseen(1, s, s, s, s), tally.Undecided,
			"\"first write\": for only 4 of 5 failovers is it known whether they kept the limit of 3s"},
		{"one never recovers, another is beyond it", Threshold{FirstWrite: 3 * s}, unseen(1, s, 4*s), tally.NotMet,
			"the first write of a client came at least 4.00 s after the fault, the longest of 3 failovers; the limit is 3s"},
		{"the one that is not seen is not of the nine tenths", Threshold{FirstWrite: 3 * s, At: "p90"},
			unseen(1, s, s, s, s, s, s, s, s, 3*s), tally.Met, ""},
		{"nor can it bring the median beyond it", Threshold{FirstWrite: 3 * s, At: "median"},
			unseen(2, s, s, s), tally.Met, ""},
		{"half of them are not seen", Threshold{FirstWrite: 3 * s, At: "median"}, unseen(2, s, s), tally.Undecided,
			"\"first write\": for only 2 of 4 failovers is it known whether they kept the limit of 3s"},
	} {
		r := tally.Run{Ending: tally.Met, Failovers: c.of, Stages: reports.FailoverTimes()}
		c.limit.judge(&r)
		require.Equal(t, []any{c.ending, c.why}, []any{r.Ending, r.Why}, c.name)
		require.Equal(t, c.ending != tally.Met, r.Limit != "", c.name)
	}
	worse := tally.Run{Ending: tally.Failed, Why: "no Redis"}
	Threshold{FirstWrite: s}.judge(&worse)
	require.Equal(t, "no Redis", worse.Why)
}

// TestThresholdsBoundWhatReportsMeasure checks that each bound has the name of a time that reports show.
func TestThresholdsBoundWhatReportsMeasure(t *testing.T) {
	all := Threshold{TakesWrites: 1, FirstWrite: 1, NoWrites: 1, NoAnswers: 1}.bounds()
	require.Len(t, all, 4)
	for _, b := range all {
		require.Contains(t, reports.FailoverTimes(), b.name)
	}
}

func TestThresholdsAreReadFromASuite(t *testing.T) {
	text := "name: mine\nruns:\n  - variant: lock/set-nx-px\n    nemesis: kill-primary\n    failover: {firstWrite: " +
		"3s, at: p90}\n"
	s, err := Decode([]byte(text))
	require.NoError(t, err)
	require.NoError(t, s.Check())
	require.Equal(t, Threshold{FirstWrite: 3 * time.Second, At: "p90"}, *s.Runs[0].Failover)
	require.Equal(t, "; first write within 3s at p90", s.Runs[0].Failover.String())
	again, err := s.Encode()
	require.NoError(t, err)
	s, err = Decode(again)
	require.NoError(t, err, "%s", again)
	require.Equal(t, Threshold{FirstWrite: 3 * time.Second, At: "p90"}, *s.Runs[0].Failover)
	for wrong, why := range map[string]string{
		"failover: {at: p90}":                       "failover has no bound",
		"failover: {firstWrite: 3s, at: p95}":       `at "p95": choose median, p90 or max`,
		"failover: {firstWrite: -3s}":               "a bound cannot be negative",
		"failover: {firstWrites: 3s}":               "firstWrites",
		"explore: {}\n    failover: {noWrites: 3s}": "",
	} {
		s, err := Decode([]byte("name: mine\nruns:\n  - variant: lock/set-nx-px\n    " + wrong + "\n"))
		if err == nil {
			err = s.Check()
		}
		require.ErrorIs(t, err, plan.ErrUsage, wrong)
		require.ErrorContains(t, err, why, wrong)
	}
}
