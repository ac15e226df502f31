package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/doublegrant/doublegrant/harness/cluster/docker"
	"github.com/doublegrant/doublegrant/harness/coordinate"
	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// examples lists the examples for shards and the Kubernetes manifests, with how many times each runs a command.
var examples = map[string]map[string]int{
	"suite/examples/github.yaml": {"suite": 1, "merge": 1},
	"suite/examples/gitlab.yaml": {"suite": 1, "merge": 1},

	"kubernetes/coordinator.yaml": {"coordinate": 1},
	"kubernetes/fetch.yaml":       {},
	"kubernetes/merge.yaml":       {"merge": 1},
	"kubernetes/nats.yaml":        {},
	"kubernetes/network.yaml":     {},
	"kubernetes/results.yaml":     {},
	"kubernetes/shards.yaml":      {"suite": 1},
	"kubernetes/workers.yaml":     {"work": 1},
}

// exampleOf reads the documents of an example.
func exampleOf(t *testing.T, name string) (all []map[string]any) {
	t.Helper()
	file, err := os.Open(filepath.Join(Source, "..", name))
	require.NoError(t, err)
	defer file.Close()
	for dec := yaml.NewDecoder(file); ; {
		var doc map[string]any
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err, name)
		all = append(all, doc)
	}
}

// commandsIn lists the command lines of doublegrant in a document, split into words. They are in shell lines, and in
// the args of containers of doublegrant's image.
func commandsIn(node any) (all [][]string) {
	switch n := node.(type) {
	case string:
		for line := range strings.Lines(n) {
			if words := strings.Fields(line); len(words) > 1 && words[0] == "doublegrant" {
				all = append(all, words[1:])
			}
		}
	case []any:
		for _, child := range n {
			all = append(all, commandsIn(child)...)
		}
	case map[string]any:
		if n["image"] == docker.HarnessImage {
			var words []string
			for _, arg := range n["args"].([]any) {
				words = append(words, arg.(string))
			}
			return [][]string{words}
		}
		for _, child := range n {
			all = append(all, commandsIn(child)...)
		}
	}
	return all
}

func TestCommandsOfExamplesExist(t *testing.T) {
	var files []string
	for _, folder := range []string{"suite/examples", "kubernetes"} {
		found, err := filepath.Glob(filepath.Join(Source, "..", folder, "*.yaml"))
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.Len(t, files, len(examples))
	for name, want := range examples {
		got := map[string]int{}
		for _, doc := range exampleOf(t, name) {
			for _, words := range commandsIn(doc) {
				got[nameOfCommand(t, name, words)]++
			}
		}
		require.Equal(t, want, got, name)
	}
}

// nameOfCommand returns the name of a command line's command, and checks that the command and its flags exist.
func nameOfCommand(t *testing.T, example string, words []string) string {
	t.Helper()
	root := (&app{}).root()
	words = strings.Fields(regexp.MustCompile(`\$\{\{[^}]*\}\}`).ReplaceAllString(strings.Join(words, " "), "1"))
	cmd, rest, err := root.Find(words)
	require.NoError(t, err, "%s: %v", example, words)
	require.NotSame(t, root, cmd, "%s: %v", example, words)
	require.NoError(t, cmd.ParseFlags(rest), "%s: %v", example, words)
	return words[0]
}

// at returns the part of a document below the keys.
func at(t *testing.T, node any, keys ...string) any {
	t.Helper()
	for _, key := range keys {
		m, ok := node.(map[string]any)
		require.True(t, ok, "%s of %v", key, node)
		require.Contains(t, m, key)
		node = m[key]
	}
	return node
}

// TestExamplesHaveAsManyJobsAsShards checks that the numbers of jobs and of shards agree.
func TestExamplesHaveAsManyJobsAsShards(t *testing.T) {
	github := exampleOf(t, "suite/examples/github.yaml")[0]
	require.Equal(t, []any{1, 2, 3, 4}, at(t, github, "jobs", "shards", "strategy", "matrix", "shard"),
		"shards count from 1")
	require.Equal(t, false, at(t, github, "jobs", "shards", "strategy", "fail-fast"))
	shard := commandsIn(at(t, github, "jobs", "shards"))[0]
	require.Contains(t, strings.Join(shard, " "), "--shard ${{ matrix.shard }}/${{ strategy.job-total }}")
	require.Equal(t, "shards", at(t, github, "jobs", "report", "needs"))
	require.NotContains(t, fmt.Sprint(at(t, github, "jobs", "report")), "GITHUB_STEP_SUMMARY",
		"merge writes the summary itself, so it would be there twice")

	gitlab := exampleOf(t, "suite/examples/gitlab.yaml")[0]
	require.Equal(t, 4, at(t, gitlab, "shard", "parallel"))
	require.Contains(t, commandsIn(at(t, gitlab, "shard"))[0], "auto")
	require.Equal(t, []any{"shard"}, at(t, gitlab, "report", "needs"))
	require.Equal(t, []any{ExitInvalid, ExitUnknown}, at(t, gitlab, "shard", "allow_failure", "exit_codes"))
}

// bytesOf reads an amount of Kubernetes, in the units that the manifests use.
func bytesOf(t *testing.T, amount any) int64 {
	t.Helper()
	text := amount.(string)
	unit, known := map[string]int64{"Mi": 1 << 20, "Gi": 1 << 30}[text[len(text)-2:]]
	require.True(t, known, text)
	n, err := strconv.ParseInt(text[:len(text)-2], 10, 64)
	require.NoError(t, err)
	return n * unit
}

// TestResultsHaveRoomInPods checks that pods have enough memory and disk space for the largest allowed results.
func TestResultsHaveRoomInPods(t *testing.T) {
	const gib = 1 << 30
	for name, needs := range map[string]struct{ memory, tmp int64 }{
		// What is packed grows by doubling.
		"kubernetes/workers.yaml": {3*workqueue.MostBytes + 2*gib, coordinate.MostUnpacked + gib},
		// The last result waits for the collector.
		"kubernetes/coordinator.yaml": {2*workqueue.MostBytes + gib, gib},
	} {
		pod := at(t, exampleOf(t, name)[0], "spec", "template", "spec")
		container := at(t, pod, "containers").([]any)[0]
		require.GreaterOrEqual(t, bytesOf(t, at(t, container, "resources", "limits", "memory")), needs.memory, name)
		volumes := at(t, pod, "volumes").([]any)
		i := slices.IndexFunc(volumes, func(v any) bool { return at(t, v, "name") == "tmp" })
		require.GreaterOrEqual(t, bytesOf(t, at(t, volumes[i], "emptyDir", "sizeLimit")), needs.tmp, name)
	}
}
