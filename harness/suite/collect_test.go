package suite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/tally"
)

// collectThree begins a collection of two repetitions of one run, and one of another.
func collectThree(t *testing.T) (*Collection, string) {
	t.Helper()
	s, err := Decode([]byte("name: mine\nruns: [{variant: sequence/incr, name: one, times: 2}, {variant: lock/setnx, " +
		"name: two}]\n"))
	require.NoError(t, err)
	root := filepath.Join(t.TempDir(), "results")
	c, err := s.Collect(root, "v1")
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c, root
}

// madeOf returns what a worker sends for a run.
func madeOf(name string, ending tally.Ending) RemoteResult {
	return RemoteResult{
		Run: tally.Run{Name: name, Ending: ending, Command: "doublegrant run --plan /tmp/x/a/plan.yaml",
			Link: "a/report.html"},
		Folder: "/tmp/x", Servers: map[string]string{"process": "Redis 7"},
	}
}

// add adds a run whose folder has a file.
func (c *Collection) add(t *testing.T, i int, m RemoteResult) tally.Run {
	t.Helper()
	require.NoError(t, c.Check(i, m, "w"))
	require.NoError(t, os.MkdirAll(filepath.Join(c.Folder(i), "a"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(c.Folder(i), "a/report.html"), nil, 0o644))
	return c.Add(i, m, "w")
}

func TestACollectionIsTheFolderOfOneMachine(t *testing.T) {
	t.Parallel()
	c, root := collectThree(t)
	c.add(t, 0, madeOf("one", tally.Met))
	c.add(t, 1, madeOf("one", tally.NotMet))
	require.Equal(t, "run-3/a/report.html", c.add(t, 2, madeOf("two", tally.Met)).Link)
	var told string
	out, dir, err := c.Finish(func(dir string) error {
		told = dir
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, dir, told)
	require.NoError(t, c.Close())
	require.Equal(t, []any{3, 2, 1, ""}, []any{out.Total().Runs, out.Total().Met, out.Total().NotMet, out.Ended})
	require.Equal(t, tally.NotMet, out.Ending())
	failed, _ := out.Failures(9)
	require.Equal(t, "w", failed[0].Worker)
	require.Equal(t, "doublegrant run --plan "+filepath.Join(dir, "run-2/a/plan.yaml"), failed[0].Command,
		"it leads into the results folder")
	require.FileExists(t, filepath.Join(dir, failed[0].Link))
	require.Equal(t, map[string]string{"process": "Redis 7"}, out.Servers)
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Len(t, entries, 2, "the folder and the link latest")
	again, err := Report(dir)
	require.NoError(t, err)
	require.Equal(t, out.Total().Runs, again.Total().Runs)
}

func TestACollectionThatIsNotWholeIsUnknown(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(c *Collection){
		"one, repetition 2: given up": func(c *Collection) { c.Missing(1, "given up") },
		"they contradict each other": func(c *Collection) {
			c.add(t, 1, madeOf("one", tally.Met))
			c.MarkIncomplete("they contradict each other")
		},
	} {
		c, _ := collectThree(t)
		c.add(t, 0, madeOf("one", tally.Met))
		change(c)
		c.add(t, 2, madeOf("two", tally.Met))
		out, _, err := c.Finish(nil)
		require.NoError(t, err)
		require.Equal(t, name, out.Ended)
		require.Equal(t, tally.NotRun, out.Ending())
	}
}

func TestWhatAWorkerSendsIsChecked(t *testing.T) {
	t.Parallel()
	c, root := collectThree(t)
	c.add(t, 0, madeOf("one", tally.Met))
	for want, change := range map[string]func(*RemoteResult){
		`this is the run "two" instead of "one"`: func(m *RemoteResult) { m.Run.Name = "two" },
		"the run ended early":                    func(m *RemoteResult) { m.Run.Ending = tally.NotRun },
		"folder has no report":                   func(m *RemoteResult) { m.Run.Link = "../../x" },
		"it ran on Redis 8, and the units of w on Redis 7: " +
			"g": func(m *RemoteResult) { m.Servers = map[string]string{"process": "Redis 8"} },
	} {
		m := madeOf("one", tally.Met)
		change(&m)
		require.ErrorContains(t, c.Check(1, m, "x"), want)
	}
	require.NoError(t, c.Close())
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Empty(t, entries, "what is not whole goes")
}

func TestTwoResultsOfARunHaveItsEndingInCommon(t *testing.T) {
	t.Parallel()
	for ending, want := range map[tally.Ending]string{tally.Met: "met", tally.NotMet: "not met", tally.Undecided: "",
		tally.Failed: "", tally.NotRun: ""} {
		require.Equal(t, want, madeOf("x", ending).Claim())
	}
}
