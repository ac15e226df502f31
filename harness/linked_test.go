package harness_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyTheCommandAndItsTestsLinkWhatIsHeavy looks at all that is linked into the programs and the test binaries of this module,
// not at their own imports alone. None links the types of Kubernetes: only a long test with a build tag does.
func TestOnlyTheCommandAndItsTestsLinkWhatIsHeavy(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-test", "-f", `{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}`, "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	programs := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, c := range []struct{ libraries, in []string }{
		{
			[]string{"github.com/testcontainers/", "github.com/moby/", "github.com/docker/", "go.opentelemetry.io/"},
			[]string{"harness/cluster/docker.test", "harness/cli.test", "harness/cmd/doublegrant"},
		},
		{[]string{"github.com/nats-io/"}, []string{"harness/workqueue/jetstream.test", "harness/cli.test", "harness/cmd/doublegrant", "harness/kubernetes.test"}},
		{[]string{"k8s.io/", "sigs.k8s.io/"}, nil},
	} {
		var link []string
		for _, program := range programs {
			linked := strings.Fields(program)
			if slices.ContainsFunc(linked, isOf(c.libraries)) {
				link = append(link, strings.TrimPrefix(linked[0], module))
			}
		}
		require.Greater(t, len(programs), len(link))
		require.ElementsMatch(t, c.in, link)
	}
}

// isOf reports whether a package is of one of the libraries.
func isOf(libraries []string) func(path string) bool {
	return func(path string) bool {
		return slices.ContainsFunc(libraries, func(library string) bool { return strings.HasPrefix(path, library) })
	}
}
