package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/internal/processes"
)

func TestOnlyLeftoversWithOurNameAndMarkAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	theirs := []string{"doublegrant-checkout/go.mod", "doublegrant-12/r1/notes", "doublegrant-1a/.doublegrant",
		"doublegrant-/x", "doublegrant/x"}
	makeFiles(t, os.TempDir(), append(theirs, "doublegrant-13/.doublegrant", "doublegrant-13/r1/redis.conf")...)
	at := func(name string) string { return filepath.Join(os.TempDir(), name) }
	unmarked, orphan, young := at("doublegrant-12"), at("doublegrant-13"), at("doublegrant-14")
	require.NoError(t, os.Mkdir(young, 0o700)) // of the moment between its making and its lock
	all, err := cluster.Leftovers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []cluster.Leftover{
		{Kind: "folder", Name: unmarked, Run: unmarked, Owned: true, Unmarked: true},
		{Kind: "folder", Name: orphan, Run: orphan}, {Kind: "folder", Name: young, Run: young},
	}, slices.DeleteFunc(all, func(l cluster.Leftover) bool { return l.Kind != "folder" }))

	_, err = cluster.RemoveOrphans(t.Context()) // as a start does
	require.NoError(t, err)
	require.NoDirExists(t, orphan)
	require.NoDirExists(t, young)
	for _, file := range theirs {
		require.FileExists(t, at(file))
	}
}

// makeFiles makes empty files in a folder, with their parent folders.
func makeFiles(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, file := range files {
		path := filepath.Join(dir, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
}

// oneHost is a site with one host of a cluster whose folder and process are gone.
type oneHost struct {
	cluster.Site
	subnet  string
	removed bool
}

func (s *oneHost) Leftovers(context.Context) ([]cluster.Leftover, error) {
	return []cluster.Leftover{{Kind: "container", Name: "r1", Run: "/nowhere/doublegrant-1", ID: "1", Process: "1@1",
		Subnet: s.subnet}}, nil
}

func (s *oneHost) Remove(_ context.Context, l cluster.Leftover) error {
	s.removed = l.ID == "1"
	return nil
}

// A start claims a subnet before it removes orphans. An orphan in that subnet has to be removed too: it occupies an
// address that the start needs.
func TestOrphansOfTheSubnetThatAStartClaimedAreRemoved(t *testing.T) {
	for says, want := range map[string]bool{"own": true, "127.9.0.0/16": false, "": false, "127.0.0.0/16": false} {
		d := &oneHost{}
		removed, err := cluster.SweepHolding(t.Context(), d, func(own string) {
			d.subnet = strings.Replace(says, "own", own, 1)
		})
		require.NoError(t, err)
		require.Equal(t, want, d.removed, "subnet %q", says)
		require.Equal(t, want, len(removed) == 1)
	}
}

// TestTheWatchdogOfAFolderRemovesWhatIsOursAlone tests both watchdogs: the shell and, for machines without one, a
// second process of this program. A watchdog that is told that the folder is gone does not remove a later folder with
// the same name.
func TestTheWatchdogOfAFolderRemovesWhatIsOursAlone(t *testing.T) {
	abandon, dismiss := cluster.RunningWatchdog.Abandon, cluster.RunningWatchdog.Dismiss
	for shell, by := range map[string]string{"/bin/sh": "a shell", "/nowhere/sh": "this program"} {
		for name, c := range map[string]struct {
			files []string
			end   func(cluster.RunningWatchdog)
			gone  bool
		}{
			"ours":           {[]string{".doublegrant", "r1/redis.conf", "two words.log"}, abandon, true},
			"not yet marked": {nil, abandon, true},
			"of that name":   {[]string{"r1/notes"}, abandon, false},
			"forgotten":      {nil, dismiss, false},
		} {
			t.Run(name+", by "+by, func(t *testing.T) {
				defer cluster.SetShell(shell)()
				dir := filepath.Join(t.TempDir(), "doublegrant-1")
				watchdog, err := cluster.WatchFolder(dir)
				require.NoError(t, err)
				require.NoError(t, os.Mkdir(dir, 0o700))
				makeFiles(t, dir, c.files...)
				ended := watchdogOf(t, dir)
				c.end(watchdog)
				eventually(t, ended, "the watchdog does not end")
				if c.gone {
					require.NoDirExists(t, dir)
					return
				}
				require.DirExists(t, dir)
				for _, file := range c.files {
					require.FileExists(t, filepath.Join(dir, file))
				}
			})
		}
	}
}

// watchdogOf finds the watchdog of a folder. ended reports whether it has ended.
func watchdogOf(t *testing.T, dir string) (ended func() bool) {
	t.Helper()
	for _, pid := range processes.All() {
		words := fmt.Sprintf("/proc/%d/cmdline", pid)
		if b, err := os.ReadFile(words); err == nil &&
			strings.Contains(string(b), "doublegrant-watchdog\x00"+dir+"\x00") {
			return func() bool { b, err := os.ReadFile(words); return err != nil || len(b) == 0 }
		}
	}
	require.Fail(t, "there is no watchdog")
	return nil
}
