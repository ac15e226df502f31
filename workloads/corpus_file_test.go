package workloads_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// Every name occurs once. Nothing may be found in a correct algorithm. A broken one is found, or its row says why not.
func TestCorpusIsDescribed(t *testing.T) {
	names := map[string]bool{}
	broken, right := 0, 0
	for _, a := range corpus() {
		require.False(t, names[a.id()], a.id())
		names[a.id()] = true
		require.NotEmpty(t, a.doc, a.id())
		require.NotContains(t, a.name+a.doc, "|", a.id())
		for _, s := range []said{a.explorer, a.load} {
			require.False(t, a.right() && s.verdict == harness.Invalid, a.id())
			require.False(t, s.perhaps && s.why == "", a.id())
		}
		if a.right() {
			right++
		} else {
			broken++
		}
	}
	require.GreaterOrEqual(t, broken, 80)
	require.GreaterOrEqual(t, right, 60)
	require.Subset(t, slices.Collect(maps.Keys(names)), append(fewExplored, fewLoaded...))
}

const corpusFile = "CORPUS.md"

var writeCorpus = flag.Bool("write-corpus", false, "write "+corpusFile+" anew")

// The tables in CORPUS.md agree with the code. The text before them is written by hand.
func TestCorpusFile(t *testing.T) {
	got, err := os.ReadFile(corpusFile)
	require.NoError(t, err)
	head, _, _ := strings.Cut(string(got), "\n## ")
	want := head + corpusTables(corpus())
	if *writeCorpus {
		require.NoError(t, os.WriteFile(corpusFile, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(got), "write it anew: go test ./workloads -run CorpusFile -write-corpus")
}

func corpusTables(all []algorithm) string {
	var b strings.Builder
	section := func(title string, right bool) {
		n := 0
		var rows strings.Builder
		for _, p := range all {
			if p.right() == right {
				n++
				fmt.Fprintf(&rows, "| %s/%s | %s | %s | %s |\n", p.as, p.name, p.doc, p.explorer, p.load)
			}
		}
		fmt.Fprintf(&b, "\n## %s: %d\n\n| algorithm | what it does | explorer | load |\n|---|---|---|---|\n%s", title,
			n, rows.String())
	}
	section("Broken", false)
	section("Right, but unusual", true)
	return b.String()
}
