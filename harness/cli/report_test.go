package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

func TestTheReportOfASearchIsWrittenAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	before, _, code := run(t, "explore", "lock/set-nx-px-blind-del")
	require.Equal(t, cli.ExitInvalid, code)
	files := []string{"report.html", "verdict.json", "summary.md", "junit.xml"}
	was := map[string]string{}
	for _, name := range files {
		path := filepath.Join("results/latest", name)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if was[name] = string(text); name != "verdict.json" {
			require.NoError(t, os.Remove(path))
		}
	}
	dir, err := filepath.EvalSymlinks("results/latest")
	require.NoError(t, err)
	again, errs, code := run(t, "report", dir)
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Equal(t, before, again, "what is printed is the same, too")
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, was[name], string(text), name)
	}
}

func TestAFolderThatHasNoReportOfItsOwnSaysWhatItIs(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write("results/20260102-030405-sequence-incr/plan.yaml", "")
	write("results/20260102-030406-explore/verdict.json", `{"kind":"exploration","schema":1}`)
	write("paged/20260102-030405-sequence-incr/plan.yaml", "")
	write("paged/index.html", "")
	write("torn/verdict.json", `{"schema":1}`)
	write("trials/reproduction.json", "{}")
	write("soak/suite.jsonl", "")
	require.NoError(t, os.Mkdir("empty", 0o755))
	for _, c := range []struct{ command, dir, want string }{
		{"report", "results", "results is a folder of results folders: name one of them, such as results/20260102-030406-explore"},
		{"report", "paged", "with a page that leads to them: name one of them, such as paged/20260102-030405-sequence-incr"},
		{"report", "torn", "torn has a verdict.json of a run, and no plan.yaml"},
		{"report", "trials", "trials is the results folder of reproduce"},
		{"report", "empty", "empty is not a results folder: there is no plan.yaml in it"},
		{"report", "none", "none is not a results folder: there is no such folder"},
		{"check", "results/20260102-030406-explore", "is the results folder of a search, which records no history: report writes its pages again"},
		{"history", "results/20260102-030406-explore", "is the results folder of a search"},
		{"check", "soak", "soak is the results folder of a suite"},
	} {
		out, errs, code := run(t, c.command, c.dir)
		require.Equal(t, cli.ExitUsage, code, errs)
		require.Contains(t, errs, c.want)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
		require.Empty(t, out)
	}
}
