package docker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
)

// If DOCKER_HOST is set, the usual daemon is not used instead.
func TestADaemonThatIsNamedIsNotReplaced(t *testing.T) {
	for _, host := range []string{"tcp://127.0.0.1:1", "unix:///nowhere/docker.sock", "nonsense"} {
		t.Setenv("DOCKER_HOST", host)
		_, err := cluster.Options{Platform: docker.Platform{}}.Preflight()
		require.ErrorIs(t, err, docker.ErrNoDocker, host)
		require.ErrorContains(t, err, "DOCKER_HOST="+host+": ")
		require.NotContains(t, err.Error(), "\n")
	}
}
