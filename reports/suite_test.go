package reports

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/suite/tally"
)

// suiteWith has a case for each of the endings, all of its runs ended so.
func suiteWith(endings ...tally.Ending) tally.Suite {
	s := tally.Suite{Name: "mine", Elapsed: time.Minute, Passes: 1}
	for i, e := range endings {
		c := tally.Case{Name: fmt.Sprintf("case %d", i), Expected: "valid"}
		c.Add(tally.Run{Name: c.Name, Ending: e, Seed: uint64(i + 1), Why: "why", Ops: 10, Command: "doublegrant run x"})
		s.Cases = append(s.Cases, c)
	}
	return s
}

func TestEveryFormOfASuiteSaysWhatFailedAndHowToRepeatIt(t *testing.T) {
	s := suiteWith(tally.Met, tally.NotMet, tally.Unsaid, tally.Failed, tally.NotRun)
	s.Ended = "interrupted"
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text": func(b *bytes.Buffer) error { return SuiteText(b, s) },
		"html": func(b *bytes.Buffer) error { return SuiteHTML(b, s) },
		"md":   func(b *bytes.Buffer) error { return SuiteSummary(b, s) },
		"json": func(b *bytes.Buffer) error { return SuiteJSON(b, s) },
	} {
		var b bytes.Buffer
		require.NoError(t, write(&b), name)
		for _, want := range []string{"case 1", "not met", "unknown", "failed", "not run", "interrupted", "doublegrant run x"} {
			require.Contains(t, copied(b.String()), want, name)
		}
	}
	var b bytes.Buffer
	require.NoError(t, SuiteJSON(&b, s))
	var back tally.Suite
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	require.Equal(t, s.Ending(), back.Ending())
}

// mergedSuite was put together from three shards, one of which was cut short.
func mergedSuite() tally.Suite {
	s := suiteWith(tally.Met, tally.Met)
	s.Version, s.Servers, s.Ended = "doublegrant v1.2.3", map[string]string{"process": "Redis 7.0.15"}, "shard 2/3: interrupted"
	for n := 1; n <= 3; n++ {
		s.Shards = append(s.Shards, tally.ShardResult{
			Shard: tally.Shard{Number: n, Of: 3}, Folder: fmt.Sprintf("shard-%d", n), Started: time.Date(2026, 1, 2, 3, 4, n, 0, time.UTC),
			Elapsed: 20 * time.Second, Runs: 4 + n, RSS: int64(n) << 20,
		})
	}
	s.Shards[1].Ended, s.Shards[2].Resumed = "interrupted", 2
	return s
}

func TestASuiteOfShardsSaysWhatEachDid(t *testing.T) {
	s := mergedSuite()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text": func(b *bytes.Buffer) error { return SuiteText(b, s) },
		"html": func(b *bytes.Buffer) error { return SuiteHTML(b, s) },
		"md":   func(b *bytes.Buffer) error { return SuiteSummary(b, s) },
	} {
		var b bytes.Buffer
		require.NoError(t, write(&b), name)
		for _, want := range []string{
			"in 3 shards of at most 60.0 s.", "shard 2/3: interrupted", "2026-01-02 03:04:02 UTC", "3/3", "as it should, resumed 2 times", "3 MiB",
			"doublegrant v1.2.3", "Redis 7.0.15",
		} {
			require.Contains(t, b.String(), want, name)
		}
	}
	var b bytes.Buffer
	require.NoError(t, SuiteHTML(&b, s))
	require.Contains(t, b.String(), `<a href="shard-2/index.html">2/3</a>`)

	b.Reset()
	one := suiteWith(tally.Met)
	one.Shard = &tally.Shard{Number: 2, Of: 3}
	require.NoError(t, SuiteText(&b, one))
	require.Contains(t, b.String(), "This is shard 2 of 3: doublegrant merge puts all together.")
}

func TestASuiteIsATestCaseForEachOfItsOwn(t *testing.T) {
	var b bytes.Buffer
	of := suiteWith(tally.Met, tally.NotMet, tally.Unsaid, tally.Failed, tally.NotRun)
	of.Cases[1].Failures[0].Link = "20260102-run/report.html"
	require.NoError(t, SuiteJUnit(&b, of))
	var back junitSuites
	require.NoError(t, xml.Unmarshal(b.Bytes(), &back))
	s := back.Suites[0]
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
		"FAILED":          suiteWith(tally.Met, tally.Failed, tally.NotMet, tally.Unsaid),
		"NOT CARRIED OUT": suiteWith(tally.Met, tally.Failed, tally.Unsaid),
		"UNKNOWN":         suiteWith(tally.Met, tally.Unsaid),
	} {
		var b bytes.Buffer
		require.NoError(t, SuiteText(&b, s))
		require.Regexp(t, "(?m)^"+want+"  \\d", b.String())
	}
}

func TestASuitesPagesAreNotForItsRunsToWrite(t *testing.T) {
	s := suiteWith(tally.NotMet)
	evil := "<script>alert(1)</script>\x1b[31m|`\u202e"
	s.Name, s.Ended, s.Cases[0].Name, s.Cases[0].Failures[0].Why = evil, evil, evil, evil
	s.Shards, s.Version, s.Servers = []tally.ShardResult{{Folder: evil, Ended: evil}}, evil, map[string]string{evil: evil}
	for _, write := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return SuiteHTML(b, s) },
		func(b *bytes.Buffer) error { return SuiteSummary(b, s) },
	} {
		var b bytes.Buffer
		require.NoError(t, write(&b))
		require.NotContains(t, b.String(), "<script>")
		require.NotContains(t, b.String(), "\x1b")
	}
	var b bytes.Buffer
	require.NoError(t, SuiteText(&b, s))
	require.NotContains(t, b.String(), "\x1b")
}

func TestASuiteSaysHowMemoryGrew(t *testing.T) {
	var leak tally.Memory
	for i := range 100 {
		leak.UnderLoad(tally.Sample{At: time.Duration(i) * 10 * time.Second, RSS: (200 + 2*int64(i)) << 20})
	}
	leak.AfterRun(2, tally.Sample{At: 1000 * time.Second, RSS: 1 << 20, Goroutines: 3, Files: 11})
	leak.WarmUp = tally.WarmUp
	var b bytes.Buffer
	s := suiteWith(tally.Met)
	s.Memory = leak
	require.NoError(t, SuiteText(&b, s))
	require.Contains(t, b.String(), "memory under load")
	require.Contains(t, b.String(), "(+3")
}
