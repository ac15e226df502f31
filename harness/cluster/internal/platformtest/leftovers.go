package platformtest

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/internal/processes"
)

// Remains lists what is left of clusters in the temporary folder tmp: folders, hosts and processes. It leaves out the
// cluster whose folder the parameter spared names.
func (p Platform) Remains(t *testing.T, tmp, spared string) (left []string) {
	t.Helper()
	for _, l := range p.leftovers(t) {
		if filepath.Dir(l.Run) == tmp && l.Run != spared {
			left = append(left, fmt.Sprintf("%s %s owned=%v", l.Kind, l.Name, l.Owned))
		}
	}
	for _, pid := range processes.All() {
		cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if err == nil && strings.HasPrefix(cwd, tmp) && !strings.HasPrefix(cwd, spared) {
			left = append(left, fmt.Sprintf("process %d in %s", pid, cwd))
		}
	}
	return left
}

// bystander starts a cluster that must survive the end of others, and returns it with its folder.
func (p Platform) bystander(t *testing.T) (*cluster.Cluster, string) {
	t.Helper()
	c := cluster.Sentinel(p.Options)
	p.Up(t, c)
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), "doublegrant-*"))
	require.NoError(t, err)
	require.Len(t, dirs, 1)
	return c, dirs[0]
}

// NothingIsLeftOfAKilledHarness kills harnesses at random moments and checks that nothing of them remains.
func (p Platform) NothingIsLeftOfAKilledHarness(t *testing.T) {
	c, own := p.bystander(t)
	for range Trials(2) {
		v := NewVictim(t, busy)
		v.start(t)
		lived := time.Duration(rand.Int64N(int64(cmp.Or(p.Usual, 2*time.Second))))
		time.Sleep(lived) // the moment is what is random here
		before := len(p.Remains(t, v.tmp, own))
		v.kill()
		died := time.Now()
		gone := func() bool { return len(p.Remains(t, v.tmp, own)) == 0 && len(v.watchdogs()) == 0 }
		require.Eventually(t, gone, Hang, 20*time.Millisecond, "something was left behind")
		t.Logf("killed after %v with %d things; all gone after %v", lived, before, time.Since(died))
	}
	Whole(t, c)
	require.NoError(t, Connect(t, c, 0).Set(t.Context(), "k", "v", 0).Err())
}

// OrphansAreRemovedAndNothingElse kills harnesses together with their watchdogs. It checks that RemoveOrphans, and the
// next start, remove what the harnesses leave behind. The parameter kinds lists the values of Leftover.Kind that
// RemoveOrphans must find.
func (p Platform) OrphansAreRemovedAndNothingElse(t *testing.T, kinds ...string) {
	c, own := p.bystander(t)
	p.killBoth(t, own)
	removed, err := cluster.RemoveOrphans(t.Context(), p.sites(t.Context())...)
	require.NoError(t, err)
	for _, l := range removed {
		require.False(t, l.Owned)
		require.NotEqual(t, own, l.Run)
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == l.Kind })
	}
	require.Empty(t, kinds, "none of them was an orphan")
	p.awaitNothing(t, own)
	Whole(t, c)

	p.killBoth(t, own)
	if p.Sites != nil { // the temporary files were removed
		for _, l := range p.orphans(t) {
			require.NoError(t, os.RemoveAll(l.Run))
		}
		p.awaitOrphans(t)
	}
	next := cluster.Standalone(p.Options)
	require.NoError(t, StartQuietly(t, next))
	require.NoError(t, next.Stop())
	p.awaitNothing(t, own)
	Whole(t, c)
}

// awaitNothing checks that nothing remains except the cluster in the given folder. It waits only for processes, since
// the kernel may not have ended the nodes of a dead harness yet.
func (p Platform) awaitNothing(t *testing.T, own string) {
	t.Helper()
	for _, what := range p.Remains(t, os.TempDir(), own) {
		require.Contains(t, what, "process ")
	}
	Eventually(t, func() bool { return len(p.Remains(t, os.TempDir(), own)) == 0 }, "processes remain")
}

func (p Platform) orphans(t *testing.T) []cluster.Leftover {
	t.Helper()
	return slices.DeleteFunc(p.leftovers(t),
		func(l cluster.Leftover) bool { return l.Owned || filepath.Dir(l.Run) != os.TempDir() })
}

// killBoth starts a harness with six nodes, and kills it together with its watchdogs. The parameter own is the folder
// of the test's own cluster.
func (p Platform) killBoth(t *testing.T, own string) {
	t.Helper()
	v := NewVictim(t, idle) // a busy one may be done when we come to kill it
	_, err := v.StdinPipe()
	require.NoError(t, err)
	out, err := v.StdoutPipe()
	require.NoError(t, err)
	v.start(t)
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "start <nil>\n", said)
	dogs := v.watchdogs()
	require.Len(t, dogs, 1+p.Dogs, "one of the folder, and those of the platform")
	for _, dog := range dogs {
		require.NoError(t, syscall.Kill(dog, syscall.SIGKILL))
	}
	v.kill()
	require.NotEmpty(t, p.Remains(t, v.tmp, own), "nothing was left to remove")
	p.awaitOrphans(t)
}

// awaitOrphans waits until some leftover counts as an orphan. Until then a cluster of another test may have the dead
// cluster's subnet, so that every leftover seems to have an owner.
func (p Platform) awaitOrphans(t *testing.T) {
	t.Helper()
	Eventually(t, func() bool { return len(p.orphans(t)) > 0 }, "all that is left has an owner")
}
