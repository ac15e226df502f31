package harness_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyTheCommandAndItsTestsLinkContainers looks at all that is linked into the programs and the test binaries of this module,
// not at their own imports alone.
func TestOnlyTheCommandAndItsTestsLinkContainers(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-test", "-f", `{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}`, "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	var link []string
	programs := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, program := range programs {
		linked := strings.Fields(program)
		if slices.ContainsFunc(linked, ofContainers) {
			link = append(link, strings.TrimPrefix(linked[0], module))
		}
	}
	require.Greater(t, len(programs), len(link))
	require.ElementsMatch(t, []string{"harness/cluster/docker.test", "harness/cli.test", "harness/cmd/doublegrant"}, link)
}

// ofContainers reports whether a package is of a library for containers.
func ofContainers(path string) bool {
	return slices.ContainsFunc([]string{"github.com/testcontainers/", "github.com/moby/", "github.com/docker/", "go.opentelemetry.io/"},
		func(library string) bool { return strings.HasPrefix(path, library) })
}
