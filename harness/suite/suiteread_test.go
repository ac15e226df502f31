package suite

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/tally"
)

const (
	recordedHead = `{"suite":{"name":"mine","started":"2026-11-21T04:00:00Z","for":3600000000000,"cases":[` +
		`{"name":"one","variant":"sequence/incr","expected":"valid"},{"name":"two","variant":"lock/setnx","expected":"invalid: stuck-lock"}]}}` + "\n"
	recordedRuns = `{"run":{"name":"one","pass":1,"ending":"met","verdict":"valid","ops":7,"process":{"at":4000000000,"rss":9}}}` + "\n" +
		`{"run":{"name":"two","pass":1,"ending":"not met","verdict":"valid","why":"found no stuck-lock","process":{"at":5000000000,"rss":9}}}` + "\n" +
		`{"sample":{"at":9000000000,"rss":12}}` + "\n" +
		`{"run":{"name":"one","pass":2,"ending":"met","verdict":"valid","ops":5,"process":{"at":8000000000,"rss":9}}}` +
		"\n"
	recordedEnd = `{"end":{"at":10000000000,"ending":"not met"}}` + "\n"
)

func TestARecordIsReadAsFarAsItGoes(t *testing.T) {
	was, err := readRecord(strings.NewReader(recordedHead+recordedRuns+recordedEnd), nil)
	require.NoError(t, err)
	require.Empty(t, was.out.Ended)
	require.Equal(t, 10*time.Second, was.out.Elapsed)
	require.Equal(t, tally.NotMet, was.out.Ending())
	require.Equal(t, 2, was.out.Passes)
	require.Equal(t, [2]int{2, 1}, [2]int{was.out.Cases[0].Runs, was.out.Cases[1].Runs})
	require.Equal(t, "lock/setnx", was.out.Cases[1].Variant)
	require.EqualValues(t, 12, was.out.Cases[0].Ops)
	require.EqualValues(t, 12, was.out.Memory.Max)

	for _, torn := range []string{"", recordedEnd[:len(recordedEnd)-1], recordedRuns[:30]} {
		was, err = readRecord(strings.NewReader(recordedHead+recordedRuns+torn), nil)
		require.NoError(t, err)
		require.Equal(t, cutShort, was.out.Ended)
		require.Equal(t, 9*time.Second, was.out.Elapsed, "as far as is known")
		require.Equal(t, tally.NotMet, was.out.Ending())
	}
	was, err = readRecord(strings.NewReader(recordedHead), nil)
	require.NoError(t, err)
	require.Equal(t, tally.NotRun, was.out.Ending(), "a suite that was killed in its first run")
}

// TestAKilledSuiteNamesTheRunItWasIn checks that this is the newest folder with a plan and no verdict. A suite that
// came to its end names none.
func TestAKilledSuiteNamesTheRunItWasIn(t *testing.T) {
	dir := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644))
	}
	ended := func(record string) string {
		t.Helper()
		write(recordFile, record)
		s, err := Report(dir)
		require.NoError(t, err)
		return s.Ended
	}
	require.Equal(t, cutShort, ended(recordedHead+recordedRuns), "nothing is on disk")
	write("20261121-040001-one/plan.yaml", "")
	write("20261121-040002-two/plan.yaml", "")
	write("20261121-040003-one/plan.yaml", "")
	write("20261121-040003-one/verdict.json", "{}")
	require.NoError(t, os.Symlink("20261121-040003-one", filepath.Join(dir, "latest")))
	require.Equal(t, cutShort+": its recording is in 20261121-040002-two", ended(recordedHead+recordedRuns))
	require.Empty(t, ended(recordedHead+recordedRuns+recordedEnd))
}

// TestLinesOfARecordKeepTheirForm reads lines of an earlier version and writes them again: they stay the same.
func TestLinesOfARecordKeepTheirForm(t *testing.T) {
	for _, line := range []string{
		`{"run":{"name":"one","pass":3,"seed":18,"ending":"not met","why":"found 2 double-grant","verdict":"invalid","found":"2 double-grant",` +
			`"expected":"valid","ops":7,"started":"2026-11-21T04:00:00Z","elapsed":20000000000,"command":"doublegrant run lock/setnx",` +
			`"link":"one/report.html","process":{"at":4000000000,"rss":9,"goroutines":3,"files":11}}}`,
		`{"sample":{"at":9000000000,"rss":12,"goroutines":40,"files":30}}`,
		`{"end":{"at":10000000000,"ending":"unknown","reason":"interrupted"}}`,
	} {
		var l recordLine
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		again, err := json.Marshal(l)
		require.NoError(t, err)
		require.Equal(t, line, string(again))
	}
}

func TestARecordThatCannotBeIsRefusedByItsLine(t *testing.T) {
	for text, want := range map[string]string{
		recordedHead[:20]:                  "does not say what was begun",
		recordedRuns:                       "line 1: only the first line",
		recordedHead + recordedHead:        "line 2: only the first line",
		recordedHead + "nonsense\n":        "line 2: invalid character",
		recordedHead + `{"run":{}}` + "\n": `line 2: the suite has no run ""`,
	} {
		_, err := readRecord(strings.NewReader(text), nil)
		require.ErrorContains(t, err, want)
	}
	_, err := Report(t.TempDir())
	require.ErrorIs(t, err, plan.ErrUsage)
}

func TestARunThatFailsAfterAViolationThatNobodyExpectedIsNotMet(t *testing.T) {
	out := results.Outcome{Expectation: plan.Expectation{May: []harness.Class{harness.LostWrite}}}
	broken := errors.New("the cluster stays broken")
	for class, want := range map[harness.Class]tally.Ending{harness.LostWrite: tally.Failed,
		harness.DoubleGrant: tally.NotMet} {
		out.Report.Judged = harness.Judged{Verdict: harness.Invalid, Totals: map[harness.Class]int{class: 1}}
		run := suiteRun(out, broken)
		require.Equal(t, want, run.Ending, class)
		require.Contains(t, run.Why, "the cluster stays broken")
		require.Equal(t, want == tally.NotMet, strings.Contains(run.Why, "found 1 double-grant"), run.Why)
	}
}
