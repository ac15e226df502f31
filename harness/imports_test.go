package harness_test

import (
	"fmt"
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

// allowed lists which packages of this module each package imports, lowest first: none imports one that stands below it.
// Tests may import what they like.
var allowed = []room{
	{"harness", nil},
	{"lua", nil},
	{"harness/await", nil},
	{"harness/suggest", nil},
	{"harness/texttable", nil},
	{"harness/units", nil},
	{"harness/internal/fields", []string{"harness/suggest"}},
	{"harness/internal/processes", nil},
	{"harness/testenv", nil},
	{"harness/cmd/mutate", nil},
	{"harness/workqueue", nil},
	{"harness/workqueue/internal/contract", []string{"harness/workqueue"}},
	{"harness/workqueue/jetstream", []string{"harness/workqueue"}},

	{"harness/history", []string{"harness"}},
	{"harness/generators", []string{"harness", "harness/history"}},
	{"harness/cluster/fabric", []string{"harness", "harness/await"}},
	{"harness/cluster/attached", []string{"harness", "harness/cluster/fabric"}},
	{"harness/cluster", []string{"harness", "harness/await", "harness/cluster/attached", "harness/cluster/fabric"}},
	{"harness/cluster/external", []string{"harness", "harness/await", "harness/cluster/attached"}},
	{"harness/cluster/attached/attachedtest", []string{"harness/await", "harness/cluster", "harness/cluster/attached"}},
	{"harness/cluster/internal/platformtest", []string{"harness", "harness/cluster", "harness/internal/processes"}},
	{"harness/cluster/docker", []string{"harness/await", "harness/cluster"}},
	{"harness/cluster/clustertest", []string{"harness", "harness/cluster"}},
	{"harness/interleave", []string{"harness"}},
	{"harness/explore", []string{"harness", "harness/await", "harness/cluster", "harness/interleave"}},

	{"harness/analysis", []string{"harness", "harness/units"}},
	{"harness/analysis/analysistest", []string{"harness", "harness/interleave"}},
	{"harness/suite/tally", []string{"harness"}},

	{"checkers", []string{"harness", "harness/units"}},
	{"nemesis", []string{"harness", "harness/await", "harness/suggest"}},
	{"workloads", []string{"harness", "harness/interleave", "harness/suggest", "lua"}},
	{"workloads/clients", nil},
	{"harness/outside", []string{"harness", "harness/cluster", "harness/interleave", "harness/internal/processes", "workloads", "workloads/clients"}},
	{"reports/drawing", []string{"harness", "harness/analysis", "harness/interleave", "harness/suite/tally", "harness/units"}},
	{"reports", []string{
		"harness", "harness/analysis", "harness/interleave", "harness/suite/tally", "harness/texttable", "harness/units", "reports/drawing",
	}},

	{"harness/granttest", []string{
		"harness", "harness/cluster", "harness/explore", "harness/interleave", "checkers", "nemesis", "reports", "workloads",
	}},

	{"harness/plan", []string{
		"harness", "harness/cluster", "harness/cluster/attached", "harness/cluster/external", "harness/explore", "harness/interleave", "harness/internal/fields", "harness/outside", "harness/suggest", "harness/units", "checkers", "nemesis", "workloads",
	}},
	{"harness/results", []string{
		"harness", "harness/analysis", "harness/cluster", "harness/cluster/attached", "harness/explore", "harness/generators", "harness/interleave", "harness/history", "harness/outside", "harness/plan", "checkers",
		"reports", "workloads",
	}},
	{"harness/suite", []string{
		"harness", "harness/cluster", "harness/internal/fields", "harness/plan", "harness/results", "harness/suggest", "harness/suite/tally", "reports",
	}},
	{"harness/coordinate", []string{
		"harness/cluster", "harness/explore", "harness/plan", "harness/results", "harness/suite", "harness/suite/tally", "harness/workqueue",
	}},
	{"harness/experiments", []string{
		"harness", "harness/analysis", "harness/cluster", "harness/plan", "harness/results", "harness/suggest", "checkers", "nemesis", "reports",
	}},
	{"harness/cli", []string{
		"harness", "harness/cluster", "harness/cluster/docker", "harness/cluster/external", "harness/coordinate", "harness/experiments", "harness/explore", "harness/generators", "harness/interleave",
		"harness/history", "harness/plan", "harness/results", "harness/suggest", "harness/suite", "harness/suite/tally", "harness/texttable", "harness/units",
		"harness/workqueue", "harness/workqueue/jetstream", "nemesis", "reports", "workloads",
	}},
	{"harness/cmd/doublegrant", []string{"harness/cli"}},
}

// others lists the libraries of others, and the packages that may import each. What a library does for us is known to
// these packages alone.
var others = []library{
	{"github.com/Shopify/toxiproxy", []string{"harness/cluster/fabric"}},
	{"github.com/rs/zerolog", []string{"harness/cluster/fabric"}}, // toxiproxy's logger
	{"golang.org/x/sys", []string{"harness/cluster/fabric"}},
	{"github.com/testcontainers/testcontainers-go", []string{"harness/cluster/docker"}},
	{"github.com/moby/moby", []string{"harness/cluster/docker"}},
	{"github.com/containerd/errdefs", []string{"harness/cluster/docker"}},
	{"github.com/redis/go-redis", []string{"harness/cluster", "harness/cluster/attached", "harness/cluster/attached/attachedtest", "harness/cluster/external", "harness/cluster/internal/platformtest", "harness/explore", "harness/granttest", "harness/interleave", "harness/outside", "harness/results", "workloads"}},
	{"github.com/cespare/xxhash", []string{"harness/explore"}},
	{"github.com/klauspost/compress", []string{"harness/history"}},
	{"github.com/anishathalye/porcupine", []string{"checkers"}},
	{"github.com/RoaringBitmap/roaring", []string{"checkers"}},
	{"github.com/bsm/redislock", []string{"workloads"}},
	{"github.com/go-redsync/redsync", []string{"workloads"}},
	{"go.yaml.in/yaml", []string{"harness/internal/fields", "harness/plan", "harness/suite"}},
	{"github.com/spf13/cobra", []string{"harness/cli"}},
	{"github.com/schollz/progressbar", []string{"harness/cli"}},
	{"github.com/fatih/color", []string{"harness/cli"}},
	{"github.com/spf13/pflag", []string{"harness/cli"}},
	{"github.com/stretchr/testify", []string{"harness/cluster/internal/platformtest", "harness/workqueue/internal/contract"}}, // and tests
	{"github.com/nats-io", []string{"harness/workqueue/jetstream"}},
	{"golang.org/x/term", []string{"harness/texttable"}},
	{"al.essio.dev/pkg/shellescape", []string{"harness/plan", "reports"}},
}

// room is a package and the packages of this module that it imports.
type room struct {
	name    string
	imports []string
}

// library is a library of others, by the beginning of its import paths, and the packages that import it.
type library struct {
	name string
	in   []string
}

// TestImportsPointDownwards holds the imports of the whole module to the tables above.
func TestImportsPointDownwards(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(root, "go.mod"))
	graph, err := importsOf(root)
	require.NoError(t, err)
	require.Empty(t, wrongImports(graph, allowed, others))
}

// TestWrongImportsAreSeen shows on a made-up module what the test above is for.
func TestWrongImportsAreSeen(t *testing.T) {
	rooms := []room{{"low", nil}, {"high", []string{"low"}}}
	libraries := []library{{"example.org/pump", []string{"low"}}}
	upwards := []room{{"low", []string{"high"}}, {"high", []string{"low"}}}
	for name, c := range map[string]struct {
		in   string // the package whose imports change
		to   []string
		rows []room
		want string
	}{
		"as it should be":                   {"high", []string{module + "low", "net/http"}, rooms, ""},
		"an edge upwards":                   {"low", []string{"example.org/pump", module + "high"}, rooms, "low imports high: "},
		"an edge that is no longer there":   {"high", nil, rooms, "high does not import low any more: "},
		"a new package":                     {"third", nil, rooms, "third is not in the table: "},
		"a package that is gone":            {"low", []string{"example.org/pump"}, append(rooms, room{"gone", nil}), "gone is not there any more: "},
		"a row that allows an edge upwards": {"low", []string{"example.org/pump", module + "high"}, upwards, "the row of low allows high, "},
		"a library in another package":      {"high", []string{module + "low", "example.org/pump/v2"}, rooms, "high imports example.org/pump/v2: "},
		"a library called almost the same":  {"low", []string{"example.org/pump", "example.org/pumps"}, rooms, "low imports example.org/pumps: "},
		"a library that is not imported":    {"low", nil, rooms, "low does not import example.org/pump any more: "},
	} {
		graph := map[string][]string{"low": {"fmt", "example.org/pump/v2/valve"}, "high": {module + "low"}}
		graph[c.in] = c.to
		wrong := strings.Join(wrongImports(graph, c.rows, libraries), "\n")
		require.True(t, strings.HasPrefix(wrong, c.want) && (wrong == "") == (c.want == ""), "%s: %s", name, wrong)
		require.NotContains(t, wrong, "\n", name)
	}
}

// importsOf lists what each package below root imports, on any system, tests left out. Packages are named by their folders.
func importsOf(root string) (map[string][]string, error) {
	graph := map[string][]string{}
	err := eachSource(root, func(name, _ string, file *ast.File) {
		for _, spec := range file.Imports {
			graph[name] = append(graph[name], strings.Trim(spec.Path.Value, "\"`"))
		}
		slices.Sort(graph[name])
		graph[name] = slices.Compact(graph[name])
	})
	return graph, err
}

// notOurs reports whether the go command passes a folder over, or takes it for another module.
func notOurs(folder string) bool {
	base := filepath.Base(folder)
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil || base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

// wrongImports says where a graph of imports and the tables differ, each with what to do.
func wrongImports(graph map[string][]string, rooms []room, libraries []library) (wrong []string) {
	wrong = append(wrong, wrongRows(graph, rooms)...)
	for _, name := range slices.Sorted(maps.Keys(graph)) {
		i := slices.IndexFunc(rooms, func(r room) bool { return r.name == name })
		if i < 0 {
			wrong = append(wrong, name+" is not in the table: give it a row, below what it imports")
			continue
		}
		for _, path := range graph[name] {
			own, ours := strings.CutPrefix(path, module)
			switch {
			case ours && !slices.Contains(rooms[i].imports, own):
				wrong = append(wrong, fmt.Sprintf("%s imports %s: the table does not allow it; see \"Imports point downwards\" in harness/README.md", name, own))
			case !ours && !standard(path) && !slices.ContainsFunc(libraries, func(l library) bool { return l.has(path) && slices.Contains(l.in, name) }):
				wrong = append(wrong, fmt.Sprintf("%s imports %s: the table keeps each library to few packages; go through one of them, or add this one", name, path))
			}
		}
	}
	for _, l := range libraries {
		for _, name := range l.in {
			if !slices.ContainsFunc(graph[name], l.has) {
				wrong = append(wrong, fmt.Sprintf("%s does not import %s any more: take it out of the table", name, l.name))
			}
		}
	}
	return wrong
}

// wrongRows lists rows that point upwards, and those of what is not there any more.
func wrongRows(graph map[string][]string, rooms []room) (wrong []string) {
	above := map[string]bool{}
	for _, r := range rooms {
		imports, there := graph[r.name]
		if !there {
			wrong = append(wrong, r.name+" is not there any more: take its row out of the table")
			continue
		}
		for _, i := range r.imports {
			if !above[i] {
				wrong = append(wrong, fmt.Sprintf("the row of %s allows %s, which stands below it: imports point one way, so move what both need further down",
					r.name, i))
			}
			if !slices.Contains(imports, module+i) {
				wrong = append(wrong, fmt.Sprintf("%s does not import %s any more: take it out of the table", r.name, i))
			}
		}
		above[r.name] = true
	}
	return wrong
}

// standard reports whether an import is of Go's own library, whose paths have no dot in their first element.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// has reports whether an import is of the library.
func (l library) has(path string) bool { return path == l.name || strings.HasPrefix(path, l.name+"/") }
