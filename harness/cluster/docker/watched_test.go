package docker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

type refused struct{ said []any }

func (*refused) Helper()                       {}
func (*refused) Skipf(string, ...any)          {}
func (r *refused) Fatalf(_ string, why ...any) { r.said = why }

func TestAProgramThatCannotWatchItsContainersMakesNone(t *testing.T) {
	watched.Store(false)
	defer watched.Store(true)
	t.Setenv("CI", "")
	t.Setenv("DOUBLEGRANT_REQUIRE_DOCKER", "")
	_, err := cluster.Options{On: Platform{}}.Preflight()
	require.ErrorIs(t, err, errNoWatchdog)
	require.ErrorContains(t, err, "call docker.Watchdog first thing in main, or in TestMain")
	var r refused
	Need(&r)
	require.NotEmpty(t, r.said, "the test would be skipped for ever")
}

func TestAPlatformThatIsNotLinkedIsSaid(t *testing.T) {
	_, err := cluster.Options{On: cluster.NotLinked("docker")}.Preflight()
	require.ErrorContains(t, err, "this program cannot run nodes on docker: it was built without it (import harness/cluster/docker")
}
