package cli_test

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// needDocker skips a test of containers where there is no Docker.
func needDocker(t *testing.T) {
	t.Helper()
	docker.Need(testenv.Noting(t, "tests of containers", "install Docker Engine, and start it"))
}

// dockerThat starts a fake Docker daemon with this handler.
func dockerThat(t *testing.T, answer http.HandlerFunc) (host string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d.sock")
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.44")
		w.Header().Set("Content-Type", "application/json")
		answer(w, r)
	})}
	t.Cleanup(func() { _ = s.Close() })
	go func() { _ = s.Serve(ln) }()
	return "unix://" + path
}

func TestDoctorMindsDockerOnlyIfAsked(t *testing.T) {
	t.Parallel()
	// its containers are in a network of their own
	useless := dockerThat(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/info") {
			_, _ = w.Write([]byte(`{"OSType":"linux","OperatingSystem":"Some Linux","ServerVersion":"1.2.3","SecurityOptions":["name=rootless"]}`))
		}
	})
	withUseless := newPlace(t, "DOCKER_HOST="+useless).withLibraries()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, 0, "ok   docker         only --on docker needs it: "},
		{[]string{"--on", "docker"}, cli.ExitFailed, "BAD  docker         "},
		{[]string{"--build-image"}, cli.ExitFailed, "BAD  image          "},
	} {
		out, _ := withUseless.ends(c.code, append([]string{"doctor"}, c.args...)...)
		require.Contains(t, out, c.says)
		require.Contains(t, out, "Some Linux (1.2.3) gives containers no part in this machine's network")
	}
	refused(t, nil, map[string]string{"choose process or docker": "doctor --on moon"})
}

// TestDoctorFindsNothingMissing runs doctor on this machine, with Docker if there is one.
func TestDoctorFindsNothingMissing(t *testing.T) {
	t.Parallel()
	newPlace(t).ends(0, "doctor")
}

func TestDoctorMakesTheImage(t *testing.T) {
	t.Parallel()
	needDocker(t)
	out, _ := newPlace(t).ends(0, "doctor", "--on", "docker", "--build-image", "--redis-image", docker.LocalImage)
	require.Contains(t, out, "ok   image          "+docker.LocalImage+" has Redis ")
	require.Contains(t, out, ", image "+docker.LocalImage+"\n")
}

// withoutDocker keeps a test that cleans up from removing containers of other packages' tests.
const withoutDocker = "DOCKER_HOST=unix:///nowhere/docker.sock"

func TestDoctorCleansUpAfterTheDeadAndSparesTheLiving(t *testing.T) {
	t.Parallel()
	here := newPlace(t, withoutDocker).withLibraries()
	// longer than any doctor
	p := here.start("run", "sequence/incr", "--topology", "standalone", "--clients", "2", "--rate", "10", "--duration",
		"1h")
	p.awaitServers(1)
	orphan := filepath.Dir(here.write("doublegrant-1/.doublegrant", ""))
	here.write("doublegrant-1/r1/redis.conf", "")
	here.write("doublegrant-7/r1/notes", "") // which only looks like ours
	old := filepath.Join(here.dir, "doublegrant-7")
	out, _ := here.ends(0, "doctor")
	require.Contains(t, out, "left by killed runs: folder "+orphan+" (doublegrant doctor --clean removes them)")
	require.Contains(t, out, "runs in progress: ")
	require.DirExists(t, orphan)

	out, _ = here.ends(0, "doctor", "--clean")
	require.Contains(t, out, "removed: folder "+orphan+"; ")
	require.NoDirExists(t, orphan)
	require.Len(t, p.servers(), 1)
	require.Contains(t, out, "not marked as doublegrant's: folder "+old+" (never removed")
	require.FileExists(t, filepath.Join(old, "r1/notes"))
	require.Len(t, here.folders(), 2, "and that of the run under way")
}

// occupySubnet takes a subnet, as a run does, with a number below the given one.
func occupySubnet(t *testing.T, below int) (int, net.Listener) {
	t.Helper()
	for x := below - 1; x >= 10; x-- {
		if ln, err := net.Listen("tcp", lockOf(x)); err == nil {
			t.Cleanup(func() { _ = ln.Close() })
			return x, ln
		}
	}
	require.Fail(t, "all subnets are taken")
	return 0, nil
}

// lockOf returns the address at which the owner of a subnet listens.
func lockOf(x int) string { return fmt.Sprintf("127.%d.0.1:6378", x) }

// TestDoctorRemovesContainersWhoseSubnetNobodyHolds covers containers of another machine or user. Doctor sees their
// network, but not their files and processes.
func TestDoctorRemovesContainersWhoseSubnetNobodyHolds(t *testing.T) {
	t.Parallel()
	for x := 251; ; {
		var held net.Listener
		x, held = occupySubnet(t, x)
		var others atomic.Bool // another test holds the subnet; try the next one
		look := func() {
			if conn, err := net.Dial("tcp", lockOf(x)); err == nil {
				_ = conn.Close()
				others.Store(true)
			}
		}
		var removals atomic.Int32
		host := dockerThat(t, func(w http.ResponseWriter, r *http.Request) {
			look()
			switch {
			case r.Method == http.MethodDelete:
				removals.Add(1)
				w.WriteHeader(http.StatusNoContent)
			case strings.HasSuffix(r.URL.Path, "/info"):
				_, _ = w.Write([]byte(`{"OSType":"linux","OperatingSystem":"Some Linux","ServerVersion":"1.2.3"}`))
			case strings.HasSuffix(r.URL.Path, "/containers/json"):
				_, _ = fmt.Fprintf(w, `[{"Id":"0123456789abcdef","Labels":{"doublegrant":"/nowhere/doublegrant-1",`+
					`"doublegrant.node":"r1","doublegrant.owner":"1@1","doublegrant.subnet":"127.%d.0.0/16"}}]`, x)
			}
		})
		here := newPlace(t, "DOCKER_HOST="+host).withLibraries()
		out, errs, _ := here.command("doctor", "--clean")
		require.Contains(t, out, "folders and containers of runs in progress: 1", errs)
		require.Zero(t, removals.Load(), out)

		require.NoError(t, held.Close())
		others.Store(false)
		out, errs, _ = here.command("doctor", "--clean")
		look()
		if removals.Load() == 0 && others.Load() {
			continue
		}
		require.Contains(t, out, "removed: container r1 (0123456789ab)", errs)
		require.EqualValues(t, 1, removals.Load())
		return
	}
}
