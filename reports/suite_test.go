package reports

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// suiteWith has a case for each of the endings, all of its runs ended so.
func suiteWith(endings ...Ending) Suite {
	s := Suite{Name: "mine", Elapsed: time.Minute, Passes: 1}
	for i, e := range endings {
		c := SuiteCase{Name: fmt.Sprintf("case %d", i), Expected: "valid"}
		c.Add(SuiteRun{Name: c.Name, Ending: e, Seed: uint64(i + 1), Why: "why", Ops: 10, Command: "doublegrant run x"})
		s.Cases = append(s.Cases, c)
	}
	return s
}

func TestTheWorstRunIsThatOfTheSuite(t *testing.T) {
	for _, c := range []struct {
		of   []Ending
		want Ending
	}{
		{nil, NotRun},
		{[]Ending{Met}, Met},
		{[]Ending{Met, NotRun}, NotRun},
		{[]Ending{NotRun, Met}, NotRun},
		{[]Ending{Met, Unsaid}, Unsaid},
		{[]Ending{Unsaid, Failed, Met}, Failed},
		{[]Ending{Failed, NotMet, Unsaid}, NotMet},
	} {
		require.Equal(t, c.want, suiteWith(c.of...).Ending(), c.of)
		one := SuiteCase{}
		for _, e := range c.of {
			one.Add(SuiteRun{Ending: e})
		}
		if want := c.want; want != NotRun { // a run that did not end takes nothing from the others of its case
			require.Equal(t, want, one.Ending(), c.of)
		}
	}
}

func TestACaseCountsAllRunsAndListsSome(t *testing.T) {
	c := SuiteCase{Name: "a"}
	for i := range 3 * maxFailures {
		c.Add(SuiteRun{Ending: Unsaid, Seed: uint64(i), Ops: 2})
	}
	c.Add(SuiteRun{Ending: Met, Ops: 2})
	c.Add(SuiteRun{Ending: NotRun, Ops: 1000})
	require.Equal(t, []int{3*maxFailures + 1, 1, 3 * maxFailures}, []int{c.Runs, c.Met, c.Unknown})
	require.Len(t, c.Failures, maxFailures)
	require.EqualValues(t, 2*(3*maxFailures+1), c.Ops)
	require.Equal(t, NotRun, Suite{Ended: "interrupted", Cases: []SuiteCase{{Met: 1, Runs: 1}}}.Ending(), "it did not do all it was asked to")
	_, others := Suite{Cases: []SuiteCase{c}}.failures(5)
	require.Equal(t, 3*maxFailures-5, others)
}

func TestEveryFormOfASuiteSaysWhatFailedAndHowToRepeatIt(t *testing.T) {
	s := suiteWith(Met, NotMet, Unsaid, Failed, NotRun)
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
			require.Contains(t, b.String(), want, name)
		}
	}
	var b bytes.Buffer
	require.NoError(t, SuiteJSON(&b, s))
	var back Suite
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	require.Equal(t, s.Ending(), back.Ending())
}

func TestASuiteIsATestCaseForEachOfItsOwn(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, SuiteJUnit(&b, suiteWith(Met, NotMet, Unsaid, Failed, NotRun)))
	var back junitSuites
	require.NoError(t, xml.Unmarshal(b.Bytes(), &back))
	s := back.Suites[0]
	require.Equal(t, []int{5, 1, 2, 1}, []int{s.Tests, s.Failures, s.Errors, s.Skipped})
	require.Nil(t, s.Cases[0].Failure)
	require.Contains(t, s.Cases[1].Failure.Message, "expected valid: why")
	require.Contains(t, s.Cases[1].Failure.Text, "run it again: doublegrant run x")
}

func TestASuitesPagesAreNotForItsRunsToWrite(t *testing.T) {
	s := suiteWith(NotMet)
	evil := "<script>alert(1)</script>\x1b[31m|`\u202e"
	s.Name, s.Ended, s.Cases[0].Name, s.Cases[0].Failures[0].Why = evil, evil, evil, evil
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

// TestMemoryIsComparedAfterTheWarmUp: what the first minutes took and a peak in between say nothing about growth.
func TestMemoryIsComparedAfterTheWarmUp(t *testing.T) {
	grows := func(by func(i int) int64) (m Memory) {
		for i := range 100 {
			at := time.Duration(i) * 10 * time.Second
			rss := by(i)
			if at <= WarmUp {
				rss = 1
			}
			m.UnderLoad(Sample{At: at, RSS: rss << 20})
			if i%10 == 9 {
				m.AfterRun(1+i/50, Sample{At: at, RSS: rss << 20, Goroutines: 3, Files: 11})
			}
		}
		return m
	}
	flat := grows(func(i int) int64 { return 200 + int64(i%3) - 1 })
	from, to, ok := flat.Load.Growth(flat.WarmUp)
	require.True(t, ok)
	require.InEpsilon(t, from, to, 0.01)
	require.InDelta(t, 200<<20, from, 2<<20)
	leak := grows(func(i int) int64 { return 200 + 2*int64(i) })
	from, to, _ = leak.Load.Growth(leak.WarmUp)
	require.Greater(t, float64(to), 1.2*float64(from))
	require.Equal(t, WarmUp, leak.WarmUp, "the first pass took longer")
	var b bytes.Buffer
	s := suiteWith(Met)
	s.Memory = leak
	require.NoError(t, SuiteText(&b, s))
	require.Contains(t, b.String(), "memory under load")
	require.Contains(t, b.String(), "(+3")

	var brief Memory
	brief.AfterRun(1, Sample{At: 10 * time.Second, RSS: 1})
	brief.AfterRun(2, Sample{At: 20 * time.Second, RSS: 1})
	require.Equal(t, 10*time.Second, brief.WarmUp, "the end of the first pass")
	_, _, ok = brief.Runs.Growth(brief.WarmUp)
	require.False(t, ok)
}

func TestACurveOfMemoryStaysSmallAndCoversAll(t *testing.T) {
	var c Curve
	for i := range 100_000 {
		c.add(Sample{At: time.Duration(i), RSS: 1})
	}
	require.Less(t, len(c.All), maxSamples)
	require.Greater(t, len(c.All), maxSamples/3)
	require.Less(t, c.All[0].At, time.Duration(1000))
	require.Greater(t, c.All[len(c.All)-1].At, time.Duration(99_000))
	for i := 1; i < len(c.All); i++ {
		require.Less(t, c.All[i-1].At, c.All[i].At)
	}
}
