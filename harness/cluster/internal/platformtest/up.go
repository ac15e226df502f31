// Package platformtest has the tests that every platform of clusters has to pass, local processes and containers alike,
// and the helpers of these tests.
package platformtest

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
)

// Hang bounds the wait for something that has to happen, even on a busy machine.
const Hang = time.Minute

// Platform is a platform under test. The zero value runs nodes as local processes.
type Platform struct {
	Options cluster.Options                      // options of the clusters, which name the platform
	Sites   func(context.Context) []cluster.Site // sites where hosts may be left over; nil: none
	Dogs    int                                  // number of a harness's watchdogs, not counting its folder's
	// Usual is the time in which a harness certainly starts a cluster and stops it; default 2s.
	Usual time.Duration
}

// Events collects what a cluster reports.
type Events struct {
	mu  sync.Mutex
	all []harness.Event
}

func (e *Events) add(ev harness.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

// Of lists the events of a kind, in the order in which they were reported. An empty node matches any.
func (e *Events) Of(node, kind string) (all []harness.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.all {
		if (node == "" || ev.Node == node) && ev.Kind == kind {
			all = append(all, ev)
		}
	}
	return all
}

// Up starts a cluster in its own temporary folder. When the test ends it stops the cluster, and fails the test if a
// file, a process or a host remains.
func (p Platform) Up(t *testing.T, c *cluster.Cluster) *Events {
	t.Helper()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ev := &Events{}
	began := time.Now()
	require.NoError(t, c.Start(t.Context(), harness.NewClock(), ev.add, slog.New(slog.DiscardHandler)))
	t.Logf("%s up in %v", c.Topology(), time.Since(began))
	t.Cleanup(func() {
		began := time.Now()
		require.NoError(t, c.Stop())
		t.Logf("down in %v", time.Since(began))
		left, err := os.ReadDir(tmp)
		require.NoError(t, err)
		require.Empty(t, left, "temporary folders left behind")
		for _, n := range append(c.RedisNodes(), c.Sentinels()...) {
			require.False(t, c.Running(n), "%s still runs", n)
		}
		p.NothingLeft(t, tmp)
	})
	return ev
}

// NothingLeft fails the test if a folder or a host of a cluster in the temporary folder tmp remains.
func (p Platform) NothingLeft(t *testing.T, tmp string) {
	t.Helper()
	for _, l := range p.leftovers(t) {
		require.NotEqual(t, tmp, filepath.Dir(l.Run), "left behind: %+v", l)
	}
}

// leftovers lists the leftovers of all clusters on the platform. It also works after the test has ended.
func (p Platform) leftovers(t *testing.T) []cluster.Leftover {
	t.Helper()
	all, err := cluster.Leftovers(context.Background(), p.sites(context.Background())...)
	require.NoError(t, err)
	return all
}

func (p Platform) sites(ctx context.Context) []cluster.Site {
	if p.Sites == nil {
		return nil
	}
	return p.Sites(ctx)
}

// StartQuietly starts a cluster and drops its events and log.
func StartQuietly(t *testing.T, c *cluster.Cluster) error {
	t.Helper()
	return c.Start(t.Context(), harness.NewClock(), func(harness.Event) {},
		slog.New(slog.NewTextHandler(io.Discard, nil)))
}

// Connect returns a client of a group.
func Connect(t *testing.T, c *cluster.Cluster, group int) redis.UniversalClient {
	t.Helper()
	r, err := c.Connect(group)
	require.NoError(t, err)
	return r
}

// Whole waits until the cluster is whole.
func Whole(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Hang)
	defer cancel()
	require.NoError(t, c.AwaitWhole(ctx))
}

// Eventually polls a condition for at most Hang, since a test that sleeps instead is flaky.
func Eventually(t *testing.T, cond func() bool, what string) {
	t.Helper()
	require.Eventually(t, cond, Hang, 20*time.Millisecond, what)
}

// Sees waits until the host gets an answer from the node. A single probe waits only for a fraction of a second.
func Sees(t *testing.T, c *cluster.Cluster, host, node string) {
	t.Helper()
	Eventually(t, func() bool { return c.Probe(t.Context(), host, node) == nil }, host+" does not see "+node)
}
