package reports

import (
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// passed returns a search whose first counterexample has a recipe.
func passed() Exploration {
	e := searches()["race"]
	e.Replay, e.Versions = "doublegrant explore --replay",
		[]Version{{"doublegrant", "v1.2.0"}, {"Redis", "7.0.15"}, {"go-redis", "v9.1.0"}}
	e.Result.Counterexamples[0].Recipe = "dg1-AAAA"
	return e
}

func TestAnIssueHasWhatItsReaderNeeds(t *testing.T) {
	text := textOf(t, IssueMarkdown, passed())
	require.Equal(t, 2, strings.Count(text, "\n|---:|---:|---|---|---|---|\n"), "the steps of each counterexample")
	for _, want := range []string{
		"## dedup/get-set: immortal-mark in 5 steps\n", "**Promised:** The mark of a message ends with its window.\n",
		"**Found:** ",
		"(a mark that never expires)", "| client 1 | `SET msg 1` | `OK` |", "| crashes |", "| Redis | 7.0.15 |",
		"| go-redis | v9.1.0 |",
		"**Repeat it:** `doublegrant explore --replay dg1-AAAA`\n",
		"**Search again:** `doublegrant explore dedup/get-set --clients 3`\n",
		"## dedup/get-set: duplicate-delivery in 7 steps\n",
		"**Promised:** Each message is delivered by one worker only.\n",
	} {
		require.Contains(t, strings.ReplaceAll(text, "`crashes`", "crashes"), want)
	}
	require.Equal(t, 1, strings.Count(text, "**Repeat it:**"), "the second has no recipe")
	valid := textOf(t, IssueMarkdown, searches()["exhausted"])
	require.Contains(t, valid, "## lock/set-nx-px: valid\n\nNo interleaving of 3 clients breaks it")
	require.NotContains(t, valid, "**Found:**")
}

// No hostile text becomes markup: no tag, no link, no table cell, no heading, no mention.
func TestAnIssueOfHostileTextsHasNoMarkupOfTheirs(t *testing.T) {
	e := searches()["evil"]
	e.Replay, e.Versions = e.Command, []Version{{e.Name, e.Name}}
	e.Result.Counterexamples[0].Recipe = e.Name
	text := textOf(t, IssueMarkdown, e)
	// without escapes and code
	bare := regexp.MustCompile("`[^`]*`").ReplaceAllString(regexp.MustCompile(`\\.`).ReplaceAllString(text, ""), "")
	for _, bad := range []string{"<", "@team", "`", "[", "~", "!", "# @"} {
		require.NotContains(t, bare, bad)
	}
	require.NotContains(t, text, "```")
	columns := 0
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if columns == 0 {
			columns = n
		}
		require.Equal(t, columns, n, line)
	}
}

func TestEveryClassBreaksAPromise(t *testing.T) {
	for _, d := range harness.Classes() {
		require.NotEmpty(t, promises[d.Class], "%s: say in promise.go what is promised", d.Class)
	}
	require.Len(t, promises, len(harness.Classes()))
}

func TestVersionsOfWhatTakesPart(t *testing.T) {
	require.Equal(t, "unknown", versionsOf(nil, "")[1].Version)
	ours := &debug.BuildInfo{Main: debug.Module{Path: self},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}}}
	require.Equal(t, Version{"doublegrant", "(devel), commit 0123456789ab"}, versionsOf(ours, "")[0])
	theirs := &debug.BuildInfo{Main: debug.Module{Path: "example.com/lock"}, Deps: []*debug.Module{
		{Path: self, Version: "v1.2.0"}, {Path: "github.com/redis/go-redis/v9", Version: "v9.1.0",
			Replace: &debug.Module{}},
	}}
	all := versionsOf(theirs, "Valkey 8.0.1")
	require.Equal(t, []Version{{"doublegrant", "v1.2.0"}, {"Valkey", "8.0.1"}, {"go-redis", "v9.1.0, replaced"}},
		all[:3])
	require.Len(t, all, 4, "what is not linked is not listed")
}
