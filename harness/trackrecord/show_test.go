package trackrecord

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/workloads/bugs"
)

// TestLongBugsShowAsStated shows a part of the table, another with each seed.
func TestLongBugsShowAsStated(t *testing.T) {
	testenv.NeedLong(t)
	all, err := bugs.All()
	require.NoError(t, err)
	each := max(1, len(all)/2) // two entries, since a program takes up to half a minute to build
	for i, b := range all {
		if !testenv.Sampled(i, each) {
			continue
		}
		t.Run(b.ID, func(t *testing.T) {
			out, err := Show(t.Context(), b, results.Options{Results: t.TempDir()})
			require.NoError(t, err)
			if out.Ending == Missing {
				testenv.LeftOut(t, b.Name(), out.Why)
			}
			require.Equal(t, Shown, out.Ending, out.Why)
		})
	}
}

func TestWhatIsMissingIsAnOutcome(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	b, err := bugs.Find("redislock-token")
	require.NoError(t, err)
	out, err := Show(t.Context(), b, results.Options{})
	require.NoError(t, err)
	require.Equal(t, Missing, out.Ending)
	require.Contains(t, out.Why, "install Go")
}

func TestEveryRunOfTheTableIsPossible(t *testing.T) {
	t.Parallel()
	all, err := bugs.All()
	require.NoError(t, err)
	for _, b := range all {
		require.Contains(t, toolchains, b.Language, b.ID)
		_, err := entry(b, b.Shown, []string{"program"})
		require.NoError(t, err, b.ID)
	}
}

// A program is made once, and what fails leaves nothing behind that would be taken for it.
func TestAProgramIsMadeAsAWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "bugs", "one")
	files := map[string][]byte{"main.go": []byte("package main")}
	failure := errors.New("no compiler")
	require.ErrorIs(t, makeIn(dir, files, func(string) error { return failure }), failure)
	left, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	require.Empty(t, left)
	for range 2 { // as by two processes
		require.NoError(t, makeIn(dir, files, func(in string) error {
			return os.WriteFile(filepath.Join(in, "program"), nil, 0o755)
		}))
	}
	require.FileExists(t, filepath.Join(dir, "main.go"))
	require.FileExists(t, filepath.Join(dir, "program"))
}

func TestEndings(t *testing.T) {
	t.Parallel()
	b := bugs.Bug{ID: "x", Class: harness.DoubleGrant, Also: []harness.Class{harness.StolenRelease}}
	require.Empty(t, unexpected([]harness.Class{harness.DoubleGrant, harness.StolenRelease}, b))
	require.Equal(t, []harness.Class{harness.StuckLock},
		unexpected([]harness.Class{harness.DoubleGrant, harness.StuckLock}, b))
	var outs []Outcome
	for i, e := range []Ending{Shown, Unsaid, Missing, Refuted} {
		outs = append(outs, Outcome{Bug: b, Ending: e})
		require.Equal(t, []int{0, 2, 3, 1}[i], ExitCode(outs))
	}
	require.Equal(t, "1 shown, 1 refuted (x), 1 undecided (x), 1 missing (x)", Summary(outs))
}

func TestTheTableStandsBetweenItsLines(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "README.md")
	require.NoError(t, os.WriteFile(file, []byte("before\n"+tableBegins+"old\n"+tableEnds+"after\n"), 0o644))
	b, err := bugs.Find("redislock-token")
	require.NoError(t, err)
	require.NoError(t, WriteTable(file, []Outcome{{Bug: b, Ending: Shown, Shown: Trial{Steps: 2}}}))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Regexp(t, `(?s)^before\n.*\| \[redislock-token\]\(redislock-token/bug.yaml\) \| .*after\n$`, string(text))
	require.NotContains(t, string(text), "old")
	require.NoError(t, os.WriteFile(file, []byte("nothing"), 0o644))
	require.ErrorIs(t, WriteTable(file, nil), plan.ErrUsage)
}
