package reports

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/tally"
)

func TestAnnotationsForGitHub(t *testing.T) {
	bad := Row{Name: "lock: a, b\n::error::x", Verdict: harness.Invalid, Sentence: "100 % wrong\r\n::warning::y",
		Command: "doublegrant run x"}
	unknown := Row{Name: "u", Verdict: harness.Unknown, Sentence: "no load"}
	var b bytes.Buffer
	require.NoError(t, AnnotateRows(&b, []Row{{Verdict: harness.Valid}, bad, unknown}))
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	require.Len(t, lines, 2, "a text adds no line of its own: %s", b.String())
	require.Equal(t, "::error title=doublegrant%3A lock%3A a%2C b%0A%3A%3Aerror%3A%3Ax::100 %25 wrong%0D%0A::warning::y"+
		"%0Arun it again: doublegrant run x%0A", lines[0])
	require.True(t, strings.HasPrefix(lines[1], "::warning title=doublegrant%3A u::no load"), lines[1])

	b.Reset()
	require.NoError(t, AnnotateRows(&b, make([]Row, 50)))
	require.Equal(t, maxAnnotations, strings.Count(b.String(), "\n"))
}

func TestAnnotationsOfASuite(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, AnnotateSuite(&b, suiteWith(tally.Met, tally.NotMet, tally.Undecided, tally.NotRun)))
	require.Equal(t, 2, strings.Count(b.String(), "\n"), b.String())
	require.Equal(t, 1, strings.Count(b.String(), "::error "))
	require.Equal(t, 1, strings.Count(b.String(), "::warning "))
	require.Contains(t, b.String(), "%0Arun it again: doublegrant run x")
}

// TestARedSearchShowsItsStepsInCI looks at the annotation, the summary and the junit.xml: of a search by itself, of one
// under several regimes, and of one in a suite.
func TestARedSearchShowsItsStepsInCI(t *testing.T) {
	e := searches()["failover"]
	c := e.Result.Counterexamples[0]
	c.Recipe, e.Replay = "dg1-x", "doublegrant explore --replay"
	e.Result.Counterexamples[0] = c
	row := e.Row("")
	s := suiteWith(tally.NotMet)
	s.Cases[0].Failures[0].Steps = e.Steps(0)
	rows := []Row{row}
	for name, text := range map[string]string{
		"annotation":            textOf(t, AnnotateRows, rows),
		"annotation of a suite": textOf(t, AnnotateSuite, s),
		"junit":                 textOf(t, func(w io.Writer, rows []Row) error { return JUnit(w, "x", rows) }, rows),
		"junit of a suite":      textOf(t, SuiteJUnit, s),
		"summary":               textOf(t, ExplorationSummary, e),
		"summary of regimes":    textOf(t, CompareMarkdown, rows),
		"summary of a suite":    textOf(t, SuiteSummary, s),
	} {
		text = strings.NewReplacer("%0A", "\n", "&#xA;", "\n", "&gt;", ">", "&#39;", "'").Replace(text)
		for line := range strings.Lines(e.whiteboard(c, pageWidth)) {
			require.Contains(t, text, strings.TrimSpace(line), name)
		}
		require.Contains(t, text, "doublegrant explore --replay dg1-x", name)
	}
	require.Contains(t, e.Steps(0), e.note(c))
	require.Contains(t, e.Steps(0), "--replay dg1-x")
	row.Expected, row.Met = "invalid: double-grant", true
	require.Empty(t, textOf(t, AnnotateRows, []Row{row}))
	require.NotContains(t, textOf(t, CompareMarkdown, []Row{row}), "```")
}

func TestAStepSummaryStaysBelowItsLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary")
	line := strings.Repeat("x", 99) + "\n"
	add := func(lines int) {
		require.NoError(t, AppendStepSummary(path, func(w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat(line, lines))
			return err
		}))
	}
	read := func() string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
	add(3)
	require.Equal(t, strings.Repeat(line, 3), read())
	add(20_000)
	require.LessOrEqual(t, len(read()), maxSummary)
	require.Greater(t, len(read()), maxSummary-300)
	require.True(t, strings.HasSuffix(read(), "x\n\n\nThis summary is cut: its results folder has the whole.\n"))
	full := read()
	add(10)
	require.Equal(t, full, read(), "what has no room is left out")
}
