package harness_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyTheCommandAndItsTestsLinkWhatIsHeavy checks which programs and test binaries of this module link the
// libraries of Docker and NATS, directly or through other packages.
func TestOnlyTheCommandAndItsTestsLinkWhatIsHeavy(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-test", "-f",
		`{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}`, "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	programs := strings.Split(strings.TrimSpace(string(out)), "\n")
	for libraries, in := range map[string][]string{
		"github.com/(testcontainers|moby|docker)|go.opentelemetry.io": {
			"harness/cluster/docker.test", "harness/cli.test", "harness/cmd/doublegrant",
		},
		"github.com/nats-io": {
			"harness/workqueue/jetstream.test", "harness/cli.test", "harness/cmd/doublegrant",
		},
	} {
		heavy := regexp.MustCompile(" (" + libraries + ")/")
		var link []string
		for _, program := range programs {
			if name, _, _ := strings.Cut(program, " "); heavy.MatchString(program) {
				link = append(link, strings.TrimPrefix(name, module))
			}
		}
		require.Greater(t, len(programs), len(link))
		require.ElementsMatch(t, in, link)
	}
}
