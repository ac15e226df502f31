package workloads

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
)

// quorumVariants returns the locks of the catalogue that need several masters. Their timeouts are long, since the
// machine that runs the tests may be slow and a master that answers too late does not count.
func quorumVariants() (all []Variant) {
	for _, v := range lockVariants() {
		if v.Masters > 0 {
			v.newQuorum = patient(v.newQuorum)
			all = append(all, v)
		}
	}
	return all
}

// patient returns the constructor of the same lock, which waits longer for each master if it is redlock. The library's
// timeout is fixed.
func patient(newQuorum func([]redis.UniversalClient) Locker) func([]redis.UniversalClient) Locker {
	return func(masters []redis.UniversalClient) Locker {
		l := newQuorum(masters)
		if r, ok := l.(*redlockLock); ok {
			r.maxTimeout = time.Second
		}
		return l
	}
}

// eachQuorum runs f for every quorum lock, on five masters of its own.
func eachQuorum(t *testing.T, o cluster.Options, f func(t *testing.T, v Variant, m *masters)) {
	for _, v := range quorumVariants() {
		t.Run(v.ID, func(t *testing.T) {
			c := clustertest.Start(t, cluster.Masters(5, o))
			f(t, v, &masters{T: t, Cluster: c, pool: newPool(c), v: v})
		})
	}
}

// masters is a running cluster of independent masters, for the test of one lock.
type masters struct {
	*testing.T
	*cluster.Cluster
	pool *pool
	v    Variant
}

// client makes a client of the lock, in a group of its own.
func (m *masters) client(group int) *lockClient {
	m.Helper()
	all, err := m.pool.masters(group)
	require.NoError(m, err)
	require.Len(m, all, 5)
	return &lockClient{lock: m.v.newQuorum(all), opts: Options{TTL: quorumTTL}}
}

// quorumTTL is long enough for a restart within it.
const quorumTTL = 2 * time.Minute

// try lets a client acquire, extend or release the lock.
func (m *masters) try(
	call func(context.Context, *harness.Session, string, string) harness.Op, owner string,
) harness.Op {
	return call(m.Context(), (&lockTime{}).session(0), "k", owner)
}

// onEach sends a command to each of the nodes, and lists the answers.
func (m *masters) onEach(nodes []string, command ...any) (all []any) {
	m.Helper()
	for _, n := range nodes {
		got, err := m.Do(m.Context(), n, command...)
		require.NoError(m, err)
		all = append(all, got)
	}
	return all
}

// wholeSince requires on each master the remaining time of a lease of quorumTTL that began no earlier than began.
func (m *masters) wholeSince(began time.Time) {
	m.Helper()
	for _, left := range m.onEach(m.RedisNodes(), "PTTL", "k") {
		require.LessOrEqual(m, left, quorumTTL.Milliseconds())
		require.GreaterOrEqual(m, left, (quorumTTL-time.Since(began)).Milliseconds()-10,
			"10 ms are for clocks of milliseconds")
	}
}

func (m *masters) kill(nodes ...string) {
	m.Helper()
	for _, n := range nodes {
		require.NoError(m, m.Kill(n))
	}
}

func (m *masters) restart(nodes ...string) {
	m.Helper()
	for _, n := range nodes {
		require.NoError(m, m.Restart(m.Context(), n))
	}
}

// holders lists who has the key on each live master.
func (m *masters) holders() []string {
	m.Helper()
	var out []string
	for _, n := range m.RedisNodes() {
		owner := "down"
		if m.Running(n) {
			v, err := m.Do(m.Context(), n, "GET", "k")
			if errors.Is(err, redis.Nil) {
				v, err = "-", nil
			}
			require.NoError(m, err)
			owner = fmt.Sprint(v)
		}
		out = append(out, owner)
	}
	return out
}

// reach waits until a client group can reach every live master. Connections to a master that was restarted have to fail
// first.
func (m *masters) reach(group int) {
	m.Helper()
	all, err := m.pool.masters(group)
	require.NoError(m, err)
	for i, r := range all {
		if m.Running(m.RedisNodes()[i]) {
			require.Eventually(m, func() bool { return r.Ping(m.Context()).Err() == nil }, time.Minute,
				time.Millisecond)
		}
	}
}
