package cluster_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

func TestOnlyLeftoversWithOurNameAndMarkAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	theirs := []string{"doublegrant-checkout/go.mod", "doublegrant-12/r1/notes", "doublegrant-1a/.doublegrant", "doublegrant-/x", "doublegrant/x"}
	for _, file := range append(theirs, "doublegrant-13/.doublegrant", "doublegrant-13/r1/redis.conf") {
		path := filepath.Join(os.TempDir(), file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	spared := func() {
		t.Helper()
		for _, file := range theirs {
			require.FileExists(t, filepath.Join(os.TempDir(), file))
		}
	}
	unmarked, orphan := filepath.Join(os.TempDir(), "doublegrant-12"), filepath.Join(os.TempDir(), "doublegrant-13")
	all, err := cluster.Leftovers(t.Context())
	require.NoError(t, err)
	var folders []cluster.Leftover
	for _, l := range all {
		if l.Kind == "folder" {
			folders = append(folders, l)
		}
	}
	require.Equal(t, []cluster.Leftover{
		{Kind: "folder", Name: unmarked, Run: unmarked, Owned: true, Unmarked: true},
		{Kind: "folder", Name: orphan, Run: orphan},
	}, folders)

	c := cluster.Standalone(cluster.Options{})
	require.NoError(t, startQuietly(t, c))
	marks, err := filepath.Glob(filepath.Join(os.TempDir(), "doublegrant-*", ".doublegrant"))
	require.NoError(t, err)
	require.Len(t, marks, 2, "of the cluster, and one of theirs")
	require.NoDirExists(t, orphan)
	require.NoError(t, c.Stop())
	spared()
	_, err = cluster.RemoveOrphans(t.Context())
	require.NoError(t, err)
	spared()
	require.NoError(t, cluster.RemoveDeadFolder(t.Context(), unmarked), "the watchdog of one that found the name taken")
	spared()
}

// oneContainer is a Docker daemon with one container, of a cluster whose folder and process are not to be found.
type oneContainer struct {
	mu      sync.Mutex
	subnet  string
	removed bool
}

func (d *oneContainer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.Header().Set("Api-Version", "1.44")
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodDelete:
		d.removed = true
		w.WriteHeader(http.StatusNoContent)
	case strings.HasSuffix(r.URL.Path, "/containers/json"):
		_, _ = fmt.Fprintf(w, `[{"Id":"0123456789abcdef","Labels":{"doublegrant":"/nowhere/doublegrant-1","doublegrant.node":"r1",`+
			`"doublegrant.owner":"1@1","doublegrant.subnet":%q}}]`, d.subnet)
	}
}

func (d *oneContainer) serve(t *testing.T) (host string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d.sock")
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	s := &http.Server{Handler: d}
	t.Cleanup(func() { _ = s.Close() })
	go func() { _ = s.Serve(ln) }()
	return "unix://" + path
}

// A start holds its subnet while it looks for orphans: one of the same subnet, in its way, must not pass for owned.
func TestOrphansOfTheSubnetThatAStartClaimedAreRemoved(t *testing.T) {
	for says, want := range map[string]bool{"own": true, "127.9.0.0/16": false, "": false, "127.0.0.0/16": false} {
		d := &oneContainer{}
		removed, err := cluster.SweepHolding(t.Context(), d.serve(t), func(own string) {
			d.subnet = strings.Replace(says, "own", own, 1)
		})
		require.NoError(t, err)
		require.Equal(t, want, d.removed, "subnet %q", says)
		require.Equal(t, want, len(removed) == 1)
	}
}
