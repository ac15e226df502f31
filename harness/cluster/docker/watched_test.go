package docker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

// recorder records whether a test is skipped or fails.
type recorder []string

func (*recorder) Helper()                 {}
func (r *recorder) Skipf(string, ...any)  { *r = append(*r, "skipped") }
func (r *recorder) Fatalf(string, ...any) { *r = append(*r, "failed") }

func TestWithoutDockerATestIsSkippedAndInCIItFails(t *testing.T) {
	t.Setenv("DOUBLEGRANT_REDIS_IMAGE", "127.0.0.1:1/doublegrant/none:0") // as good as no Docker
	for env, want := range map[string]string{"": "skipped", "false": "skipped", "1": "failed"} {
		t.Setenv("CI", env)
		t.Setenv("DOUBLEGRANT_REQUIRE_DOCKER", env)
		var r recorder
		Need(&r)
		require.Equal(t, recorder{want}, r, env)
	}
}

func TestAProgramThatCannotWatchItsContainersMakesNone(t *testing.T) {
	watchdogCalled.Store(false)
	defer watchdogCalled.Store(true)
	t.Setenv("CI", "")
	t.Setenv("DOUBLEGRANT_REQUIRE_DOCKER", "")
	_, err := cluster.Options{Platform: Platform{}}.Preflight()
	require.ErrorIs(t, err, errNoWatchdog)
	require.ErrorContains(t, err, "call docker.Watchdog first in main, or in TestMain")
	var r recorder
	Need(&r)
	require.Equal(t, recorder{"failed"}, r[:1], "the test would be skipped for ever")
}

func TestAPlatformThatIsNotLinkedIsSaid(t *testing.T) {
	_, err := cluster.Options{Platform: cluster.NotLinked("docker")}.Preflight()
	require.ErrorContains(t, err, "this program cannot run nodes on docker: it was built without it (import "+
		"harness/cluster/docker")
}
