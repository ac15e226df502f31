package interleave

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/doublegrant/doublegrant/"

// linked lists the import paths of everything that a program links with a package of this module, the package included.
func linked(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", module+pkg).Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

// of keeps the import paths that begin with one of prefixes.
func of(paths []string, prefixes ...string) (out []string) {
	for _, path := range paths {
		for _, p := range prefixes {
			if strings.HasPrefix(path, p) {
				out = append(out, path)
				break
			}
		}
	}
	return out
}

// Programs that only describe workloads or read reports link no cluster and no containers.
func TestWhatWorksOnItsDataLinksNoCluster(t *testing.T) {
	heavy := []string{module + "harness/cluster", "github.com/testcontainers/", "github.com/moby/", "go.opentelemetry.io/"}
	for _, pkg := range []string{"workloads", "reports"} {
		paths := linked(t, pkg)
		require.Contains(t, paths, module+"harness/interleave", pkg)
		require.Empty(t, of(paths, heavy...), pkg)
	}
	require.NotEmpty(t, of(linked(t, "harness/explore"), heavy...), "the explorer does link clusters, so this test would see one")
}

func TestItStandsOnTheHarnessAlone(t *testing.T) {
	require.Equal(t, []string{module + "harness", module + "harness/interleave"}, of(linked(t, "harness/interleave"), module))
}
