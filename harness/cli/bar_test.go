package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore"
)

// command runs a command whose standard error is or is not a terminal, and returns what was written there.
func command(t *testing.T, terminal bool, args ...string) string {
	t.Helper()
	var text bytes.Buffer
	a := &app{out: io.Discard, err: &screen{out: &text, terminal: terminal}}
	root := a.root()
	root.SetArgs(append(args, "--results", t.TempDir()))
	require.NoError(t, root.ExecuteContext(t.Context()))
	require.Nil(t, a.err.bar, "it was taken away")
	return text.String()
}

// seen returns the lines that a terminal shows in the end.
func seen(written string) (lines []string) {
	for line := range strings.SplitSeq(written, "\n") {
		for part := range strings.SplitSeq(line, "\r") {
			if i := strings.LastIndex(part, "\x1b[2K"); i >= 0 {
				part = part[i+len("\x1b[2K"):]
			}
			line = strings.TrimSuffix(part, "\x1b[0K")
		}
		lines = append(lines, line)
	}
	return lines
}

func TestATerminalSeesHowFarACommandIs(t *testing.T) {
	for line, shown := range map[string]string{ // progress is told once a second
		"run sequence/incr --clients 10 --rate 500 --pacing closed --duration 3s": `\d+% [|\[][█=>. ]*[|\]]  about \d+s left  [\d,]+ ok`,
		"explore lock/getset-deadline --for 3s":                                   `\d+% [|\[][█=>. ]*[|\]]  at most \d+s left  [\d,]+ run, [\d,]+ planned`,
	} {
		errs := command(t, true, strings.Fields(line)...)
		require.Regexp(t, shown, errs)
		require.NotContains(t, strings.Join(seen(errs), "\n"), " left", "nothing of it stays: %q", errs)
	}
}

func TestNoBarBesidePipesAndJSON(t *testing.T) {
	for format, terminal := range map[string]bool{"text": false, "json": true} {
		errs := command(t, terminal, "run", "sequence/incr", "--duration", "500ms", "--clients", "10", "--rate", "500",
			"--pacing", "closed", "-o", format)
		require.NotRegexp(t, "[█\x1b\r]", errs)
	}
}

func TestANarrowTerminalHasNoBar(t *testing.T) {
	require.True(t, tooNarrow(20))
	require.False(t, tooNarrow(80))
	require.False(t, tooNarrow(0), "a width that nobody knows")
}

func TestABarMakesWayForOutput(t *testing.T) {
	var text bytes.Buffer
	a := &app{err: &screen{out: &text, terminal: true}}
	stop := a.startBar(time.Hour, "about")
	a.err.beginStage(time.Hour)
	require.True(t, a.err.say("12 ok"))
	drawn := func() bool {
		a.err.mu.Lock()
		defer a.err.mu.Unlock()
		return a.err.bar.drawn
	}
	require.Eventually(t, drawn, time.Minute, time.Millisecond)
	a.interrupted()
	require.Eventually(t, drawn, time.Minute, time.Millisecond, "it comes back below")
	stop()
	stop()
	lines := seen(text.String())
	require.Len(t, lines, 2)
	require.True(t, strings.HasPrefix(lines[0], "doublegrant: interrupted"), "%q", lines[0])
	require.Empty(t, lines[1])
	require.False(t, a.err.say("more"))
}

func TestTheTimeLeftFollowsThePaceSoFar(t *testing.T) {
	now := time.Now()
	b := &progressBar{screen: &screen{}, prefix: "about", began: now, stageBegan: now, total: 100 * time.Second,
		stage: 50 * time.Second}
	at := func(d time.Duration) string { return b.text(b.position(now.Add(d)), now.Add(d)) }
	require.Empty(t, at(0))
	require.Equal(t, "about 1m30s left", at(10*time.Second))
	require.Equal(t, "about 1m40s left", at(100*time.Second),
		"a stage that takes longer than it should waits at its end")
	a := &app{err: &screen{bar: b}}
	a.err.beginStage(50 * time.Second)
	require.Equal(t, 50*time.Second, b.position(b.stageBegan))
	require.Less(t, b.position(b.stageBegan.Add(time.Hour)), b.total, "it is not over before it is")
	b.detail = strings.Repeat("x", 200)
	require.LessOrEqual(t, len(at(110*time.Second)), barDefault-barMargin)
	b.detail = "12,345,678 run, 1,234,567,890 planned"
	require.Equal(t, "about 0s left  12,345,678 run", at(110*time.Second), "no half a number")
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestSeveralSearchesHaveABar checks the bar of several searches. Its remaining time depends on how many are done.
func TestSeveralSearchesHaveABar(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var text bytes.Buffer
	out := writerFunc(func(b []byte) (int, error) {
		n, err := text.Write(b)
		if strings.Contains(text.String(), "[2/") && strings.Contains(text.String(), " left") { // that is enough
			cancel()
		}
		return n, err
	})
	a := &app{out: io.Discard, err: &screen{out: out, terminal: true}}
	root := a.root()
	root.SetArgs([]string{"explore", "--all", "--max-schedules", "20", "--results", t.TempDir()})
	_ = root.ExecuteContext(ctx) // only the output matters
	require.Regexp(t, `\d+% [|\[][█=>. ]*[|\]]  about (\d+m)?\d+s left`, text.String())
	require.NotContains(t, strings.Join(seen(text.String()), "\n"), " left")
	require.Regexp(t, `(?m)^\[2/\d+\] `, strings.Join(seen(text.String()), "\n"))
}

func TestProgressOfASearchInWords(t *testing.T) {
	p := explore.Progress{Part: 2, Parts: 4, Schedules: 12345, Pruned: 89, Planned: 67, Classes: 2}
	require.Equal(t, "12,345 run, 67 planned, 2 found, part 2 of 4, 89 pruned", searchLine(p))
	require.Equal(t, "0 run, 0 planned, 0 pruned", searchLine(explore.Progress{Part: 1, Parts: 1}))
	require.Equal(t, "1,447 run, part 7 of 7, 73 pruned",
		searchLine(explore.Progress{Schedules: 1447, Pruned: 73, Part: 7, Parts: 7, Endless: true}))
	require.Equal(t, "9 run, 3 planned, part 1 of 7, 0 pruned",
		searchLine(explore.Progress{Schedules: 9, Planned: 3, Part: 1, Parts: 7, Endless: true}))
}
