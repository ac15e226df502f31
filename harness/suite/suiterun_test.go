package suite_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/suite"
	"github.com/doublegrant/doublegrant/harness/tally"
)

// short returns a suite of runs of a second, read from a file. Runs that have to find something go on until they do.
func short(t *testing.T, runs string) suite.Suite {
	t.Helper()
	path := filepath.Join(t.TempDir(), "short.yaml")
	text := "defaults: {clients: 20, duration: 500ms, rate: 1000}\nruns:\n" + runs
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	s, err := suite.Read(path)
	require.NoError(t, err)
	return s
}

const (
	clean  = "  - {name: clean, variant: sequence/digits-compare, expect: valid}\n"
	caught = "  - {name: caught, variant: sequence/string-compare-hash, duration: 1h, stopOnFirst: true, expect: " +
		"{invalid: [duplicate-number], may: [regression]}}\n"
	wrong = "  - {name: wrong, variant: sequence/string-compare-hash, duration: 1h, stopOnFirst: true, expect: valid}\n"
)

// endings lists the endings of the suite's cases.
func endings(s tally.Suite) (all []string) {
	for _, c := range s.Cases {
		all = append(all, c.Ending().String())
	}
	return all
}

// recordOf returns the lines of the suite's record, by their kind.
func recordOf(t *testing.T, dir string) map[string][]map[string]any {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "suite.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	lines := map[string][]map[string]any{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var one map[string]map[string]any
		require.NoError(t, json.Unmarshal(sc.Bytes(), &one))
		for kind, line := range one {
			lines[kind] = append(lines[kind], line)
		}
	}
	return lines
}

func runSuite(ctx context.Context, t *testing.T, s suite.Suite, how suite.Options) (tally.Suite, string) {
	t.Helper()
	how.Results = t.TempDir()
	out, dir, err := suite.Run(ctx, s, how)
	require.NoError(t, err)
	return out, dir
}

func TestASoakKeepsTheHistoriesOfFailuresOnly(t *testing.T) {
	s := short(t, clean+wrong)
	passes := 0
	// The time is over within the first pass, which is finished all the same. Times makes two runs of each.
	for i := range s.Runs {
		s.Runs[i].Times = 2
		s.Runs[i].Seed = 7
	}
	out, dir := runSuite(t.Context(), t, s,
		suite.Options{For: time.Millisecond, Begin: func(at suite.Position) { passes = at.Pass }})
	require.Equal(t, 1, passes)
	require.Equal(t, 2, out.Cases[0].Met)
	require.Equal(t, 2, out.Cases[1].NotMet)
	require.EqualValues(t, 8, out.Cases[1].Last.Seed, "seeds count on")
	kept, err := filepath.Glob(filepath.Join(dir, "2*"))
	require.NoError(t, err)
	require.Len(t, kept, 2)
	for _, f := range out.Cases[1].Failures {
		require.FileExists(t, filepath.Join(dir, f.Link))
		require.Contains(t, f.Command, "--seed=")
	}
	require.Empty(t, out.Cases[0].Last.Link)
	_, err = os.Lstat(filepath.Join(dir, "latest"))
	require.ErrorIs(t, err, os.ErrNotExist, "it would lead to nowhere")
	require.Len(t, recordOf(t, dir)["run"], 4, "each run leaves its line")
}

func TestASuiteThatIsInterruptedSumsUpWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := short(t, clean+wrong+caught)
	how := suite.Options{Begin: func(at suite.Position) {
		if at.Run == 2 {
			cancel()
		}
	}}
	out, dir := runSuite(ctx, t, s, how)
	require.Equal(t, []string{"met", "not run", "not run"}, endings(out), "a run that was cut short says nothing")
	require.Regexp(t, `^interrupted during the run "wrong", whose folder is \S+$`, out.Ended)
	require.Equal(t, tally.NotRun, out.Ending(), "what did not run was not as expected")
	require.FileExists(t, filepath.Join(dir, "junit.xml"))
	require.Equal(t, out.Ended, recordOf(t, dir)["end"][0]["reason"])
}

// TestAShardGoesOnWithTheSeedsOfItsRepetitions checks that a resumed shard has the same seeds as one machine has.
func TestAShardGoesOnWithTheSeedsOfItsRepetitions(t *testing.T) {
	whole := short(t, "  - {name: seeded, variant: sequence/digits-compare, times: 4, seed: 70, expect: valid}\n")
	s, err := whole.Shard(tally.Shard{Number: 1, Of: 2})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, dir := runSuite(ctx, t, s, suite.Options{End: func(suite.Position, tally.Run) { cancel() }})
	require.Equal(t, "interrupted", out.Ended)

	_, _, err = suite.Run(t.Context(), whole, suite.Options{Resume: dir})
	require.ErrorIs(t, err, plan.ErrUsage)
	require.ErrorContains(t, err, "it was begun with --shard 1/2: use the same")
	out, _, err = suite.Run(t.Context(), s, suite.Options{Resume: dir})
	require.NoError(t, err)
	require.Empty(t, out.Ended)
	require.Equal(t, tally.Shard{Number: 1, Of: 2}, *out.Shard)
	var seeds []any
	for _, line := range recordOf(t, dir)["run"] {
		seeds = append(seeds, line["seed"])
	}
	require.Equal(t, []any{70.0, 72.0}, seeds)
}

func TestFailFastEndsAfterTheFirstFailure(t *testing.T) {
	out, _ := runSuite(t.Context(), t, short(t, wrong+clean), suite.Options{FailFast: true})
	require.Equal(t, []string{"not met", "not run"}, endings(out))
	require.NotEmpty(t, out.Ended)
}

// TestARunWhoseEnvironmentFailsKeepsNoOtherFromRunning hides Redis from the first run only; it was there at the
// preflight.
func TestARunWhoseEnvironmentFailsKeepsNoOtherFromRunning(t *testing.T) {
	server, _, err := cluster.FindRedis("")
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "redis-server")
	require.NoError(t, os.Symlink(server, link))
	how := suite.Options{Begin: func(at suite.Position) {
		require.NoError(t, os.Remove(link))
		if at.Run == 2 {
			require.NoError(t, os.Symlink(server, link))
		} else {
			require.NoError(t, os.Symlink("/nowhere", link))
		}
	}}
	how.Redis = link
	out, dir := runSuite(t.Context(), t, short(t, wrong+clean), how)
	require.Equal(t, []string{"failed", "met"}, endings(out))
	require.Equal(t, tally.Failed, out.Ending())
	require.Contains(t, out.Cases[0].Last.Why, "redis-server")
	junit, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
	require.NoError(t, err)
	require.Contains(t, string(junit), `failures="0" errors="1"`)

	how.Begin = func(suite.Position) {
		_ = os.Remove(link) // it may be gone already
	}
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(server, link))
	how.For = time.Hour
	out, _ = runSuite(t.Context(), t, short(t, wrong+clean), how)
	require.Equal(t, 1, out.Passes, "what cannot be done is not tried for an hour")
	require.Equal(t, []string{"failed", "failed"}, endings(out))
}

func TestNothingStartsWhenASuiteOrTheMachineCannotDoIt(t *testing.T) {
	good := short(t, clean)
	bad := short(t, clean+"  - {variant: sequence/none}\n")
	large := short(t, clean+"  - {name: large, variant: sequence/incr, clients: 900000}\n")
	broken := short(t, clean+"  - script: {as: sequence, name: broken, source: 'retur 1'}\n    expect: valid\n")
	const why = `short.yaml:4: usage: script broken does not compile: line 1: '=' expected near '1' (in the run "script-broken")`
	for _, c := range []struct {
		suite suite.Suite
		how   suite.Options
		want  error
		says  string
	}{
		{bad, suite.Options{}, plan.ErrUsage, ""},
		{broken, suite.Options{}, plan.ErrUsage, why},
		{good, suite.Options{For: -time.Second}, plan.ErrUsage, ""},
		{large, suite.Options{}, cluster.ErrLimit, ""},
		{good, suite.Options{Options: results.Options{Redis: "/nowhere/redis-server"}}, cluster.ErrNoRedis, ""},
	} {
		c.how.Results = t.TempDir()
		c.how.Begin = func(suite.Position) { t.Error("something was begun") }
		_, _, err := suite.Run(t.Context(), c.suite, c.how)
		require.ErrorIs(t, err, c.want)
		require.ErrorContains(t, err, c.says)
		left, err := os.ReadDir(c.how.Results)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// TestRunsLeaveNothingBehindInTheProcess compares goroutines and open files after three runs in one process with those
// after the first.
func TestRunsLeaveNothingBehindInTheProcess(t *testing.T) {
	var after []tally.Sample
	how := suite.Options{End: func(_ suite.Position, r tally.Run) {
		require.Positive(t, r.Ops, r.Why)
		after = append(after, r.Process)
		// a child that has ended is reaped a little later
		require.Eventually(t, func() bool { return openFiles(t) <= after[0].Files },
			time.Minute, 10*time.Millisecond, "open files grew")
	}}
	runSuite(t.Context(), t, short(t, "  - {name: first, variant: lock/set-nx-px, topology: sentinel}\n"+
		"  - {name: between, variant: sequence/incr}\n"+
		"  - {name: last, variant: lock/set-nx-px, topology: sentinel}\n"), how)
	require.Len(t, after, 3)
	require.Positive(t, after[0].Files)
	// one goroutine is Eventually's own
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= after[0].Goroutines+1 },
		time.Minute, 10*time.Millisecond, "goroutines grew: %v", after)
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all) - 1 // the folder itself is open, too
}
