package trackrecord

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads/bugs"
)

// TestLongBugsShowAsStated shows some bugs of the table, others with each seed.
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

// The go command's error for a version that does not exist becomes one line, without its progress.
func TestARefusedVersionIsOneLine(t *testing.T) {
	t.Parallel()
	said := "go: downloading a.b/c v1.0.0\n" +
		"main.go:2:8: a.b/c@v1.0.0: 403 Forbidden\n\tserver response: no\nmain.go:3:8: x\n"
	require.Equal(t, "main.go:2:8: a.b/c@v1.0.0: 403 Forbidden server response: no", refusal([]byte(said)))
	require.Empty(t, refusal(nil))
}

// A version that no proxy has ends with Missing, so that other bugs are still shown. The reason says what to do.
func TestAVersionThatIsNotToBeHad(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("GOPROXY", "off")
	b, err := bugs.Find("redislock-token")
	require.NoError(t, err)
	b.Shown.Version = "v0.0.99"
	out, err := Show(t.Context(), b, results.Options{})
	require.NoError(t, err)
	require.Equal(t, Missing, out.Ending)
	require.Contains(t, out.Why, "set GOPROXY")
	require.NotContains(t, out.Why, "\n")
	require.Equal(t, 3, ExitCode([]Outcome{out, {Bug: b, Ending: Shown}}))
}

// The report names what was searched, and the pinned versions, not those that doublegrant links.
func TestTheReportIsAboutTheLibrary(t *testing.T) {
	t.Parallel()
	b, err := bugs.Find("redislock-token")
	require.NoError(t, err)
	linked := []reports.Version{{Name: "doublegrant"}, {Name: "Redis"}, {Name: "redislock"}}
	x := named(reports.Exploration{Versions: linked}, b, b.Shown)
	require.Equal(t, []reports.Version{{Name: "doublegrant"}, {Name: "Redis"}, {Name: b.Package, Version: b.Shown.Version},
		{Name: "github.com/redis/go-redis/v9", Version: "v9.23.0"}}, x.Versions)
	var text strings.Builder
	require.NoError(t, Markdown(&text, Outcome{Bug: b, Ending: Shown}))
	require.Contains(t, text.String(), "- **Searched:** "+b.Upstream.Searched)
	require.Contains(t, text.String(), b.Package+" "+b.Shown.Version+", github.com/redis/go-redis/v9 v9.23.0:")
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

// A program that cannot be made leaves nothing behind. Two processes may make the same program.
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
