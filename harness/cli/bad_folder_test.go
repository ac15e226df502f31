package cli_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

// A results folder that cannot be read is reported on one line, without a verdict.
func TestAResultsFolderThatCannotBeReadIsOneLine(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ends(cli.ExitInvalid, strings.Fields("explore lock/set-nx-px-blind-del --clients 2 --crashes 0 --first")...)
	verdict := p.read("results/latest/verdict.json")
	newer := regexp.MustCompile(`"schema": \d+`).ReplaceAllString(verdict, `"schema": 99`)
	p.write("newer/verdict.json", newer)
	p.write("torn/verdict.json", verdict[:len(verdict)/2])
	p.write("none/notes", "mine")
	p.write("later/plan.yaml", "variant: lock/setnx\nfuture: 3\n")
	for folder, want := range map[string]struct {
		code int
		says string
	}{
		"newer": {cli.ExitFailed, "a newer doublegrant wrote it"},
		"torn":  {cli.ExitUsage, "has a verdict.json that is cut short"},
		"none":  {cli.ExitUsage, "is not a results folder"},
		"later": {cli.ExitUsage, `unknown field "future"`},
	} {
		out, errs := p.ends(want.code, "report", folder)
		require.Empty(t, out, folder)
		require.Contains(t, errs, want.says)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
}
