package harness_test

import (
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/doublegrant/doublegrant/"

// allowed lists the packages of this module that each package imports. The lowest package comes first, and none imports
// a later one. Tests may import any package.
var allowed = []room{
	{"harness", nil},
	{"lua", nil},
	{"harness/await", nil},
	{"harness/suggest", nil},
	{"harness/texttable", nil},
	{"harness/units", nil},
	{"harness/internal/fields", []string{"harness/suggest"}},
	{"harness/internal/processes", nil},
	{"harness/internal/awake", nil},
	{"harness/testenv", nil},
	{"harness/workqueue", []string{"harness/internal/awake"}},
	{"harness/workqueue/internal/contract", []string{"harness/workqueue"}},
	{"harness/workqueue/jetstream", []string{"harness/workqueue"}},

	{"harness/history", []string{"harness", "harness/units"}},
	{"harness/generators", []string{"harness", "harness/history"}},
	{"harness/cluster/fabric", []string{"harness", "harness/await"}},
	{"harness/cluster/clients", []string{"harness", "harness/cluster/fabric"}},
	{"harness/cluster", []string{"harness", "harness/await", "harness/cluster/clients", "harness/cluster/fabric"}},
	{"harness/cluster/external", []string{"harness", "harness/await", "harness/cluster/clients"}},
	{"harness/cluster/clients/clientstest", []string{"harness/await", "harness/cluster", "harness/cluster/clients"}},
	{"harness/cluster/internal/platformtest", []string{"harness", "harness/cluster", "harness/internal/processes"}},
	{"harness/cluster/docker", []string{"harness/await", "harness/cluster"}},
	{"harness/cluster/clustertest", []string{"harness", "harness/cluster"}},
	{"harness/interleave", []string{"harness", "harness/units"}},
	{"harness/explore/internal/resp", nil},
	{"harness/explore/internal/command", []string{"harness/explore/internal/resp"}},
	{"harness/explore/internal/keyspace", nil},
	{"harness/explore/internal/visited", nil},
	{"harness/explore/internal/server", []string{
		"harness", "harness/await", "harness/cluster", "harness/explore/internal/command",
		"harness/explore/internal/keyspace", "harness/explore/internal/resp", "harness/interleave",
	}},
	{"harness/explore/internal/schedule", []string{"harness/explore/internal/command", "harness/interleave"}},
	{"harness/explore/internal/strategy", []string{"harness/explore/internal/schedule", "harness/interleave"}},
	{"harness/explore/internal/findings", []string{"harness", "harness/interleave"}},
	{"harness/explore/internal/frontier", []string{
		"harness/explore/internal/command", "harness/explore/internal/findings", "harness/explore/internal/schedule",
		"harness/explore/internal/strategy", "harness/interleave",
	}},
	{"harness/explore/internal/model", []string{
		"harness", "harness/explore/internal/command", "harness/explore/internal/keyspace",
		"harness/explore/internal/schedule", "harness/explore/internal/visited",
	}},
	{"harness/explore/internal/trace", []string{"harness", "harness/explore/internal/command",
		"harness/explore/internal/keyspace", "harness/explore/internal/resp", "harness/interleave"}},
	{"harness/explore", []string{
		"harness", "harness/await", "harness/cluster", "harness/explore/internal/command",
		"harness/explore/internal/findings", "harness/explore/internal/frontier", "harness/explore/internal/keyspace",
		"harness/explore/internal/model",
		"harness/explore/internal/resp", "harness/explore/internal/schedule", "harness/explore/internal/server",
		"harness/explore/internal/strategy", "harness/explore/internal/trace", "harness/explore/internal/visited",
		"harness/interleave", "harness/internal/awake",
	}},

	{"harness/analysis", []string{"harness", "harness/units"}},
	{"harness/analysis/analysistest", []string{"harness", "harness/interleave"}},
	{"harness/tally", []string{"harness"}},

	{"checkers", []string{"harness", "harness/units"}},
	{"nemesis", []string{"harness", "harness/await", "harness/suggest"}},
	{"workloads", []string{"harness", "harness/interleave", "harness/suggest", "lua"}},
	{"workloads/adapters", nil},
	{"harness/suite/examples", nil},
	{"harness/skeleton/mylock", nil},
	{"harness/skeleton", []string{"harness/suggest", "harness/suite/examples", "workloads/adapters"}},
	{"workloads/bugs", []string{"harness", "harness/suggest"}},
	{"harness/adapter", []string{"harness", "harness/cluster", "harness/interleave", "harness/internal/processes",
		"workloads", "workloads/adapters"}},
	{"reports/drawing", []string{"harness", "harness/analysis", "harness/interleave", "harness/tally",
		"harness/texttable", "harness/units"}},
	{"reports/schemas", []string{"harness", "harness/tally"}},
	{"reports", []string{
		"harness", "harness/analysis", "harness/interleave", "harness/tally", "harness/texttable", "harness/units",
		"reports/drawing",
	}},

	{"harness/granttest", []string{
		"harness", "harness/cluster", "harness/explore", "harness/interleave", "harness/units", "checkers", "nemesis",
		"reports", "workloads",
	}},

	{"harness/plan", []string{
		"harness", "harness/cluster", "harness/cluster/clients", "harness/cluster/external", "harness/explore",
		"harness/interleave", "harness/internal/fields", "harness/adapter", "harness/suggest", "harness/units",
		"checkers", "nemesis", "workloads",
	}},
	{"harness/results", []string{
		"harness", "harness/analysis", "harness/cluster", "harness/cluster/clients", "harness/explore",
		"harness/generators", "harness/interleave", "harness/history", "harness/adapter", "harness/plan",
		"harness/units", "checkers", "reports", "workloads",
	}},
	{"harness/suite", []string{
		"harness", "harness/analysis", "harness/cluster", "harness/internal/fields",
		"harness/plan", "harness/results", "harness/suggest", "harness/tally", "harness/units", "reports",
	}},
	{"harness/trackrecord", []string{
		"harness", "harness/plan", "harness/results", "harness/suite", "harness/units", "reports", "workloads",
		"workloads/bugs", "workloads/adapters",
	}},
	{"harness/coordinate", []string{
		"harness/cluster", "harness/explore", "harness/generators", "harness/plan", "harness/results", "harness/suite",
		"harness/tally", "harness/workqueue",
	}},
	{"harness/experiments", []string{
		"harness", "harness/analysis", "harness/cluster", "harness/plan", "harness/results", "harness/suggest",
		"checkers", "reports",
	}},
	{"harness/cli", []string{
		"harness", "harness/adapter", "harness/analysis", "harness/cluster", "harness/cluster/docker",
		"harness/cluster/external", "harness/coordinate", "harness/experiments", "harness/explore",
		"harness/generators", "harness/interleave", "harness/history", "harness/plan", "harness/results",
		"harness/skeleton", "harness/suggest", "harness/suite", "harness/tally", "harness/texttable",
		"harness/trackrecord", "harness/units", "harness/workqueue", "harness/workqueue/jetstream", "nemesis",
		"reports", "workloads", "workloads/bugs",
	}},
	{"harness/cmd/doublegrant", []string{"harness/cli"}},
}

// others lists the third-party libraries, with the only packages that may import each.
var others = []library{
	{"github.com/Shopify/toxiproxy", []string{"harness/cluster/fabric"}},
	{"github.com/rs/zerolog", []string{"harness/cluster/fabric"}}, // toxiproxy's logger
	{"golang.org/x/sys", []string{"harness/cluster/fabric"}},
	{"github.com/testcontainers/testcontainers-go", []string{"harness/cluster/docker"}},
	{"github.com/moby/moby", []string{"harness/cluster/docker"}},
	{"github.com/containerd/errdefs", []string{"harness/cluster/docker"}},
	{"github.com/redis/go-redis", []string{"harness/cluster", "harness/cluster/clients",
		"harness/cluster/clients/clientstest", "harness/cluster/external", "harness/cluster/internal/platformtest",
		"harness/explore", "harness/granttest", "harness/interleave", "harness/adapter", "harness/results",
		"harness/skeleton/mylock", "workloads"}},
	{"github.com/cespare/xxhash", []string{"harness/explore/internal/visited"}},
	{"github.com/go-json-experiment/json", []string{"harness/history"}},
	{"github.com/klauspost/compress", []string{"harness/history"}},
	{"github.com/anishathalye/porcupine", []string{"checkers"}},
	{"github.com/RoaringBitmap/roaring", []string{"checkers"}},
	{"github.com/bsm/redislock", []string{"workloads"}},
	{"github.com/go-redsync/redsync", []string{"workloads"}},
	{"go.yaml.in/yaml", []string{"harness/experiments", "harness/internal/fields", "harness/plan", "harness/suite",
		"harness/trackrecord", "workloads/bugs"}},
	{"golang.org/x/mod", []string{"workloads/bugs"}},
	{"github.com/spf13/cobra", []string{"harness/cli"}},
	{"github.com/schollz/progressbar", []string{"harness/cli"}},
	{"github.com/fatih/color", []string{"harness/cli"}},
	{"github.com/spf13/pflag", []string{"harness/cli"}},
	// and tests
	{"github.com/stretchr/testify", []string{"harness/cluster/internal/platformtest",
		"harness/workqueue/internal/contract", "reports/schemas"}},
	{"github.com/google/jsonschema-go", []string{"reports/schemas"}},
	{"github.com/nats-io", []string{"harness/workqueue/jetstream"}},
	{"golang.org/x/term", []string{"harness/texttable"}},
	{"al.essio.dev/pkg/shellescape", []string{"harness/plan", "reports"}},
}

// room is a package with the packages of this module that it imports.
type room struct {
	name    string
	imports []string
}

// library is a third-party library, by the prefix of its import paths, with the packages that import it.
type library struct {
	name string
	in   []string
}

// TestImportsPointDownwards compares the imports of the whole module, on any system, with the tables above. Imports of
// tests are left out.
func TestImportsPointDownwards(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	// what each package imports of this module, and who each library
	imports, users := map[string][]string{}, map[string][]string{}
	require.NoError(t, eachSource(root, func(name, _ string, file *ast.File) {
		found := imports[name]
		for _, spec := range file.Imports {
			path := strings.Trim(spec.Path.Value, "\"`")
			if own, ours := strings.CutPrefix(path, module); ours {
				found = append(found, own)
			} else if !standard(path) {
				library := libraryOf(path)
				users[library] = append(users[library], name)
			}
		}
		imports[name] = found
	}))
	var above []string
	for _, r := range allowed {
		require.ElementsMatch(t, r.imports, distinct(imports[r.name]), "the row of %s, and what it imports", r.name)
		require.Subset(t, above, r.imports, "%s imports what stands below it: move what both need further down", r.name)
		above = append(above, r.name)
	}
	require.ElementsMatch(t, above, slices.Collect(maps.Keys(imports)), "the rows, and the packages that are there")
	for _, l := range others {
		require.ElementsMatch(t, l.in, distinct(users[l.name]), "the row of %s, and the packages that import it",
			l.name)
		delete(users, l.name)
	}
	require.Empty(t, users, "libraries without a row, and the packages that import them")
}

func distinct(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// libraryOf returns the name of the library with the path, or the path itself if no library has it.
func libraryOf(path string) string {
	for _, l := range others {
		if path == l.name || strings.HasPrefix(path, l.name+"/") {
			return l.name
		}
	}
	return path
}

// notOurs reports whether the go command ignores a folder, or treats it as another module.
func notOurs(folder string) bool {
	base := filepath.Base(folder)
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil || base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

// standard reports whether an import is from the standard library, whose paths have no dot in their first element.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}
