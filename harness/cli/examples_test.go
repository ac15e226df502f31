package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// examples lists the ready examples of shards, and how often each starts doublegrant with which command.
var examples = map[string]map[string]int{
	"github.yaml":     {"suite": 1, "merge": 1},
	"gitlab.yaml":     {"suite": 1, "merge": 1},
	"kubernetes.yaml": {"suite": 1, "merge": 1},
}

// exampleOf reads the documents of an example.
func exampleOf(t *testing.T, name string) (all []map[string]any) {
	t.Helper()
	file, err := os.Open(filepath.Join("../suite/examples", name))
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

// commandsIn lists the command lines of doublegrant in a document, each in words: lines of a shell, and a container's command and args.
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
		if command, ok := n["command"].([]any); ok && len(command) == 1 && command[0] == "doublegrant" {
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
	files, err := filepath.Glob("../suite/examples/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, len(examples))
	for name, want := range examples {
		got := map[string]int{}
		for _, doc := range exampleOf(t, name) {
			for _, words := range commandsIn(doc) {
				words = strings.Fields(regexp.MustCompile(`\$\{\{[^}]*\}\}`).ReplaceAllString(strings.Join(words, " "), "1"))
				cmd, rest, err := (&app{}).root().Find(words)
				require.NoError(t, err, "%s: %v", name, words)
				require.NoError(t, cmd.ParseFlags(rest), "%s: %v", name, words)
				got[cmd.Name()]++
			}
		}
		require.Equal(t, want, got, name)
	}
}

// at returns what a document has below the keys.
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

// TestExamplesHaveAsManyJobsAsShards reads the numbers that have to agree.
func TestExamplesHaveAsManyJobsAsShards(t *testing.T) {
	github := exampleOf(t, "github.yaml")[0]
	require.Equal(t, []any{1, 2, 3, 4}, at(t, github, "jobs", "shards", "strategy", "matrix", "shard"), "shards count from 1")
	require.Equal(t, false, at(t, github, "jobs", "shards", "strategy", "fail-fast"))
	shard := commandsIn(at(t, github, "jobs", "shards"))[0]
	require.Contains(t, strings.Join(shard, " "), "--shard ${{ matrix.shard }}/${{ strategy.job-total }}")
	require.Equal(t, "shards", at(t, github, "jobs", "report", "needs"))

	gitlab := exampleOf(t, "gitlab.yaml")[0]
	require.Equal(t, 4, at(t, gitlab, "shard", "parallel"))
	require.Contains(t, commandsIn(at(t, gitlab, "shard"))[0], "auto")
	require.Equal(t, []any{"shard"}, at(t, gitlab, "report", "needs"))
	require.Equal(t, []any{ExitInvalid, ExitUnknown}, at(t, gitlab, "shard", "allow_failure", "exit_codes"))

	kubernetes := exampleOf(t, "kubernetes.yaml")
	require.Len(t, kubernetes, 2)
	shards := at(t, kubernetes[0], "spec")
	require.Equal(t, "Indexed", at(t, shards, "completionMode"))
	require.Equal(t, 4, at(t, shards, "completions"))
	require.Contains(t, commandsIn(shards)[0], "auto/4", "Kubernetes tells no total")
	for _, job := range kubernetes {
		require.Equal(t, "batch/v1", job["apiVersion"])
		require.Equal(t, "Job", job["kind"])
		pod := at(t, job, "spec", "template", "spec")
		require.Equal(t, true, at(t, pod, "securityContext", "runAsNonRoot"))
		container := at(t, pod, "containers").([]any)[0]
		require.Equal(t, true, at(t, container, "securityContext", "readOnlyRootFilesystem"))
		var volumes, mounts []string
		for _, v := range at(t, pod, "volumes").([]any) {
			volumes = append(volumes, at(t, v, "name").(string))
		}
		for _, m := range at(t, container, "volumeMounts").([]any) {
			mounts = append(mounts, at(t, m, "name").(string))
		}
		slices.Sort(volumes)
		slices.Sort(mounts)
		require.Equal(t, volumes, mounts)
	}
}
