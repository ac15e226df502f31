package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// suiteWith returns a suite with a case for each of the endings. All runs of a case end that way.
func suiteWith(endings ...tally.Ending) tally.Suite {
	s := tally.Suite{Name: "mine", Elapsed: time.Minute, Passes: 1}
	for i, e := range endings {
		c := tally.Case{Name: fmt.Sprintf("case %d", i), Expected: "valid"}
		c.Add(tally.Run{Name: c.Name, Ending: e, Seed: uint64(i + 1), Why: "why", Ops: 10,
			Command: "doublegrant run x"})
		s.Cases = append(s.Cases, c)
	}
	return s
}

// suiteForms are the formats for people.
var suiteForms = map[string]func(io.Writer, tally.Suite) error{"text": suiteText, "html": SuiteHTML, "md": SuiteSummary}

// suiteText writes a suite for a terminal, with statistics.
func suiteText(w io.Writer, s tally.Suite) error {
	return SuiteText(w, s, Layout{Width: 150, Verbose: true})
}

func TestEveryFormOfASuiteSaysWhatFailedAndHowToRepeatIt(t *testing.T) {
	s := suiteWith(tally.Met, tally.NotMet, tally.Undecided, tally.Failed, tally.NotRun)
	s.Ended = "interrupted"
	forms := maps.Clone(suiteForms)
	forms["json"] = SuiteJSON
	for name, write := range forms {
		text := copied(textOf(t, write, s))
		for _, want := range []string{"case 1", "not met", "unknown", "failed", "not run", "interrupted",
			"doublegrant run x"} {
			require.Contains(t, text, want, name)
		}
	}
	var back tally.Suite
	require.NoError(t, json.Unmarshal([]byte(textOf(t, SuiteJSON, s)), &back))
	require.Equal(t, s.Ending(), back.Ending())
}

// nightly returns a suite of a CI job, with a run for each ending.
func nightly() tally.Suite {
	s := suiteWith(tally.Met, tally.NotMet, tally.NotMet, tally.Undecided, tally.Failed)
	s.Name, s.Started = "our locks", time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	s.Version, s.Servers = "doublegrant v1.2.3", map[string]string{"process": "Redis 7.0.15"}
	for i, c := range []struct{ name, found, expected, why string }{
		{"no order of commands breaks ours", "", "valid", ""},
		{"ours, under load", "12 double-grant and 1 stolen-release", "valid", "found 12 double-grant: client 2 was " +
			"granted lock:3 by 1.2s, while client 9 certainly held it from 1.1s until 1.4s"},
		{"the naive one is caught", "", "invalid: double-grant", "expected double-grant and found nothing"},
		{"a failover", "", "valid", "no client crashed while it held a lock, so nothing shows that it comes free"},
		{"on containers", "", "valid", "start redis: no Docker daemon answers"},
	} {
		one := &s.Cases[i]
		one.Name, one.Variant, one.Expected = c.name, "script/take", c.expected
		one.Last.Found, one.Last.Verdict, one.Elapsed = c.found, harness.Valid, 5*time.Second
		if c.found != "" {
			one.Last.Verdict = harness.Invalid
		}
		for j := range one.Failures {
			one.Failures[j].Name, one.Failures[j].Why = c.name, c.why
			one.Failures[j].Found, one.Failures[j].Expected = c.found, c.expected
		}
	}
	return s
}

func TestASuiteSaysOnWhatItRanAndWhatToDo(t *testing.T) {
	for name, write := range suiteForms {
		text := strings.Join(strings.Fields(textOf(t, write, nightly())), " ")
		for _, want := range []string{"2026-11-21 04:00 UTC", "Redis 7.0.15", "one command and the release has to compare",
			"doublegrant doctor says", "What was expected did not show.", "Give the run what it lacked"} {
			require.Contains(t, text, want, name)
		}
	}
	require.Equal(t, harness.StolenRelease.Doc().Remedy, advice(tally.Run{Ending: tally.NotMet,
		Found: "12 double-grant and 1 stolen-release", Expected: "invalid: double-grant"}), "what was not expected")
	require.Equal(t, harness.DoubleGrant.Doc().Remedies(), advice(tally.Run{Ending: tally.NotMet, Found: "3 double-grant",
		Expected: "invalid: double-grant at most 2 times"}), "else what was found")
	require.Empty(t, advice(tally.Run{Ending: tally.Met}))
	broken := tally.Run{Ending: tally.NotMet, Found: "2 double-grant and 1 regression", Expected: "valid",
		Command: "doublegrant run lock/setnx --clients=100"}
	require.Contains(t, advice(broken), "If the algorithm raced, grant and lease have to be one command")
	require.Contains(t, advice(broken), "Never let a smaller number replace a larger one")
	require.NotContains(t, advice(broken), "failover", "the run had none")
	broken.Command += " --nemesis=kill-primary"
	require.Contains(t, advice(broken), "no lock on one primary helps")
	require.Contains(t, advice(broken), "sequence/incr-wait makes that rare")
}

// mergedSuite is made of three shards, one of which was cut short.
func mergedSuite() tally.Suite {
	s := suiteWith(tally.Met, tally.Met)
	s.Version, s.Servers, s.Ended = "doublegrant v1.2.3", map[string]string{"process": "Redis 7.0.15"},
		"shard 2/3: interrupted"
	for n := 1; n <= 3; n++ {
		s.Shards = append(s.Shards, tally.ShardResult{
			Shard: tally.Shard{Number: n, Of: 3}, Folder: fmt.Sprintf("shard-%d", n),
			Started: time.Date(2026, 1, 2, 3, 4, n, 0, time.UTC),
			Elapsed: 20 * time.Second, Runs: 4 + n, RSS: int64(n) << 20,
		})
	}
	s.Shards[1].Ended, s.Shards[2].Resumed = "interrupted", 2
	return s
}

func TestASuiteOfShardsSaysWhatEachDid(t *testing.T) {
	s := mergedSuite()
	for name, write := range suiteForms {
		text := textOf(t, write, s)
		for _, want := range []string{
			"in 3 shards of at most 60.0 s.", "shard 2/3: interrupted", "2026-01-02 03:04:02 UTC", "3/3",
			"as it should, resumed 2 times", "3 MiB",
			"doublegrant v1.2.3", "Redis 7.0.15",
		} {
			require.Contains(t, text, want, name)
		}
	}
	require.Contains(t, textOf(t, SuiteHTML, s), `<a href="shard-2/index.html">2/3</a>`)
	one := suiteWith(tally.Met)
	one.Shard = &tally.Shard{Number: 2, Of: 3}
	require.Contains(t, textOf(t, suiteText, one), "This is shard 2 of 3: doublegrant merge puts all together.")
}

func TestASuiteIsATestCaseForEachOfItsOwn(t *testing.T) {
	of := suiteWith(tally.Met, tally.NotMet, tally.Undecided, tally.Failed, tally.NotRun)
	of.Cases[1].Failures[0].Link = "20260102-run/report.html"
	s := junitParsed(t, textOf(t, SuiteJUnit, of))
	require.Equal(t, []int{5, 1, 2, 1}, []int{s.Tests, s.Failures, s.Errors, s.Skipped})
	require.Nil(t, s.Cases[0].Failure)
	require.Contains(t, s.Cases[1].Failure.Message, "expected valid: why")
	require.Contains(t, s.Cases[1].Failure.Text, "run it again: doublegrant run x")
	require.Contains(t, s.Cases[1].Failure.Text, "\nreport: 20260102-run/report.html\n")
	require.NotContains(t, s.Cases[3].Error.Text, "report: ", "there is none")
}

func TestASuitesHeadlineIsItsWorstCase(t *testing.T) {
	for want, s := range map[string]tally.Suite{
		"PASSED":          suiteWith(tally.Met, tally.Met),
		"FAILED":          suiteWith(tally.Met, tally.Failed, tally.NotMet, tally.Undecided),
		"NOT CARRIED OUT": suiteWith(tally.Met, tally.Failed, tally.Undecided),
		"UNKNOWN":         suiteWith(tally.Met, tally.Undecided),
	} {
		require.Regexp(t, "(?m)^"+want+"  \\d", textOf(t, suiteText, s))
	}
}

func TestASuitesPagesAreNotForItsRunsToWrite(t *testing.T) {
	s := suiteWith(tally.NotMet)
	evil := "<script>alert(1)</script>\x1b[31m|`\u202e"
	s.Name, s.Ended, s.Cases[0].Name, s.Cases[0].Failures[0].Why = evil, evil, evil, evil
	s.Shards, s.Version, s.Servers = []tally.ShardResult{{Folder: evil, Ended: evil}}, evil,
		map[string]string{evil: evil}
	for name, write := range suiteForms {
		text := textOf(t, write, s)
		require.NotContains(t, text, "\x1b", name)
		require.True(t, name == "text" || !strings.Contains(text, "<script>"), name)
	}
}

// The page of a suite shows the harness's memory only if the suite was a soak.
func TestASuiteSaysHowMemoryGrew(t *testing.T) {
	s := suiteWith(tally.Met)
	for i := range 100 {
		s.Memory.UnderLoad(tally.Sample{At: time.Duration(i) * 10 * time.Second, RSS: (200 + 2*int64(i)) << 20})
	}
	s.Memory.AfterRun(2, tally.Sample{At: 1000 * time.Second, RSS: 1 << 20, Goroutines: 3, Files: 11})
	s.Memory.WarmUp = 1000 * time.Second // nothing comes after it
	require.NotContains(t, textOf(t, SuiteHTML, s), "The harness itself")
	s.Memory.WarmUp = tally.WarmUp
	require.Contains(t, textOf(t, SuiteHTML, s), `<details open="open">`)
	b := textOf(t, suiteText, s)
	require.Contains(t, b, "memory under load")
	require.Contains(t, b, "(+3")
}

// Failures come before the table. Memory is shown only if asked for. Nothing is wider than the terminal.
func TestASuiteOnATerminal(t *testing.T) {
	s := suiteWith(tally.Met, tally.NotMet)
	s.Memory.AfterRun(2, tally.Sample{At: time.Second, RSS: 1 << 20, Goroutines: 3, Files: 11})
	for _, width := range []int{20, 40, 80} {
		var b strings.Builder
		require.NoError(t, SuiteText(&b, s, Layout{Width: width}))
		require.Regexp(t, `(?s)^FAILED  .*not met .*again   doublegrant run x\n.*case 0`, b.String())
		require.NotContains(t, b.String(), "memory")
		for line := range strings.Lines(b.String()) {
			if !strings.Contains(line, "again") {
				require.LessOrEqual(t, units.Letters(strings.TrimSpace(line)), width, line)
			}
		}
	}
}

// A suite that was repeated counts its runs in one column.
func TestASoakOnATerminal(t *testing.T) {
	s := suiteWith(tally.NotMet)
	for range 1200 {
		s.Cases[0].Add(tally.Run{Name: "case 0", Ending: tally.Met})
	}
	var b strings.Builder
	require.NoError(t, SuiteText(&b, s, Layout{}))
	require.Regexp(t, `(?m)^RUN .* RUNS .*\ncase 0  not met .*  1,200 met,`, b.String())
}
