package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clients"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
)

// servers records the node that serves each of the usual five groups.
type servers struct {
	mu  sync.Mutex
	all [5][]string
}

func (s *servers) serves(kind string, group int, node string) {
	if kind != harness.EventServesWrites {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[group] = append(s.all[group], node)
}

func (s *servers) of(group int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all[group])
}

// openFrom opens clients of a cluster as a process on another machine would: it gets the deployment as JSON.
func openFrom(t *testing.T, c *cluster.Cluster, o clients.Options) *clients.Set {
	t.Helper()
	text, err := json.Marshal(c.Deployment())
	require.NoError(t, err)
	var d clients.Deployment
	require.NoError(t, json.Unmarshal(text, &d))
	require.Equal(t, c.Deployment(), d)
	return open(t, d, o)
}

func open(t *testing.T, d clients.Deployment, o clients.Options) *clients.Set {
	t.Helper()
	a, err := clients.Open(d, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, a.Close())
		require.NoError(t, a.Close(), "a second time")
	})
	return a
}

func connect(t *testing.T, a *clients.Set, group int) redis.UniversalClient {
	t.Helper()
	r, err := a.Connect(group)
	require.NoError(t, err)
	return r
}

// writes waits until the group's writes are acknowledged.
func writes(t *testing.T, r redis.UniversalClient) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.NoError(c, r.Set(t.Context(), "k", "v", 0).Err()) },
		15*time.Second, 20*time.Millisecond)
}

func TestALinkFaultStrikesItsLinkOnly(t *testing.T) {
	c := clustertest.Start(t, cluster.Sentinel(cluster.Options{}))
	seen := &servers{}
	a := openFrom(t, c, clients.Options{Groups: 2, OnServes: seen.serves, GroupIP: c.GroupIP, LookIP: c.LookIP})
	cut, other := connect(t, a, 0), connect(t, a, 1)
	writes(t, other)
	require.Empty(t, seen.of(0), "nobody has asked group 0 yet")
	addresses, err := c.Do(t.Context(), "r1", "CLIENT", "LIST")
	require.NoError(t, err)
	require.Contains(t, addresses, " addr="+c.GroupIP(1)+":", "a group has an address of its own")
	writes(t, cut)
	near, err := c.Connect(0)
	require.NoError(t, err)
	link := harness.Link{From: "g0", To: "r1"}
	heal, err := a.Impair([]harness.Link{link}, harness.Withhold())
	require.NoError(t, err)
	require.Error(t, cut.Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, other.Set(t.Context(), "k", "v", 0).Err(), "another group")
	require.NoError(t, near.Set(t.Context(), "k", "v", 0).Err(), "the cluster's own client of the same group")
	require.Positive(t, a.Touched(link).Withheld)
	require.Error(t, a.Probe(t.Context(), "g0", "r1"))
	require.NoError(t, a.Probe(t.Context(), "g0", "r2"))
	require.NoError(t, a.Probe(t.Context(), "g0", "s1"))
	require.NoError(t, heal())
	require.NoError(t, heal(), "a second time")
	writes(t, cut)
	require.NoError(t, a.Probe(t.Context(), "g0", "r1"))
	require.Equal(t, []string{"r1"}, seen.of(0))
}

func TestAddressesThatSentinelsNameGetANameAndALink(t *testing.T) {
	c := clustertest.Start(t, cluster.Sentinel(cluster.Options{}))
	d := c.Deployment()
	d.Nodes = nil
	a := open(t, d, clients.Options{Groups: 1})
	// Only the fabrics know the announced addresses. Our fabric takes an unknown one for real, and the cluster's
	// listens there.
	writes(t, connect(t, a, 0))
	require.ElementsMatch(t, []string{"s1", "s2", "s3", "r1"}, a.Nodes())
	heal, err := a.Impair([]harness.Link{{From: "g0", To: "r1"}}, harness.Refuse())
	require.NoError(t, err)
	require.Error(t, connect(t, a, 0).Ping(t.Context()).Err())
	require.NoError(t, heal())
	writes(t, connect(t, a, 0))
}

// faults lists one fault of each kind, with a check that it acts.
var faults = []harness.LinkFault{
	harness.Withhold(), harness.Drop(), harness.DropReplies(), harness.Refuse(),
	harness.Latency(100*time.Millisecond, 0),
	harness.Bandwidth(10_000), harness.Slice(100, 20*time.Millisecond), harness.LimitData(500),
	harness.SlowClose(100 * time.Millisecond),
}

// bites checks that a fault of that list acts on a link, and leaves nothing behind.
func bites(t *testing.T, a *clients.Set, f harness.LinkFault) {
	t.Helper()
	heal, err := a.Impair([]harness.Link{{From: "g0", To: "r1"}}, f)
	require.NoError(t, err)
	t.Cleanup(func() { _ = heal() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	switch f.Kind {
	case harness.LinkWithhold, harness.LinkDrop, harness.LinkDropReplies, harness.LinkRefuse:
		require.Error(t, a.Probe(ctx, "g0", "r1"))
	case harness.LinkLimitData:
		require.Error(t, a.Echo(ctx, "g0", "r1", 10_000))
		require.NoError(t, ctx.Err(), "the connection did not end")
	case harness.LinkSlowClose:
		require.NoError(t, a.Hangup(ctx, "g0", "r1"))
		require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
	case harness.LinkBandwidth:
		require.NoError(t, a.Echo(ctx, "g0", "r1", 2500))
		require.GreaterOrEqual(t, time.Since(began), 250*time.Millisecond)
	default:
		require.NoError(t, a.Echo(ctx, "g0", "r1", 500))
		require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
	}
	require.Zero(t, a.Touched(harness.Link{From: "g0", To: "r1"}), "our own connections count")
	require.NoError(t, heal())
	require.NoError(t, a.Echo(t.Context(), "g0", "r1", 1))
	require.NoError(t, a.Hangup(t.Context(), "g0", "r1"))
}

func TestSeveralMasters(t *testing.T) {
	a := openFrom(t, clustertest.Start(t, cluster.Masters(3, cluster.Options{})), clients.Options{})
	all, err := a.ConnectAll(4)
	require.NoError(t, err)
	require.Len(t, all, 3)
	for i, r := range all {
		require.NoError(t, r.Set(t.Context(), "number", i, 0).Err())
	}
	for i, r := range all {
		require.Equal(t, fmt.Sprint(i), r.Get(t.Context(), "number").Val(), "each leads to a master of its own")
	}
	_, err = a.Connect(5)
	require.ErrorContains(t, err, "there are 5")
	_, err = a.Connect(-1)
	require.Error(t, err)
}

func TestLinksOfOthersAreNotOurs(t *testing.T) {
	d := clients.Deployment{Nodes: []clients.Node{{Name: "r1", Announced: "127.0.0.1:1"},
		{Name: "r2", Announced: "127.0.0.1:2"}}}
	a := open(t, d, clients.Options{})
	for _, l := range []harness.Link{{From: "r1", To: "r2"}, {From: "g0", To: "r3"}, {From: "g5", To: "r1"}} {
		heal, err := a.Impair([]harness.Link{l}, harness.Withhold())
		require.Error(t, err, l)
		require.NoError(t, heal())
		require.Error(t, a.Probe(t.Context(), l.From, l.To))
	}
	require.NoError(t, a.Close())
	_, err := a.Connect(0)
	require.ErrorContains(t, err, "closed")
}

func TestADeploymentPrintsNoSecrets(t *testing.T) {
	d := clients.Deployment{
		Nodes:      []clients.Node{{Name: "r1", Announced: "canary.example:6379"}},
		Sentinels:  []clients.Node{{Name: "s1", Announced: "canary.example:1"}},
		MasterName: "m", Username: "canary", Password: "canary", SentinelUsername: "canary", SentinelPassword: "canary",
		TLS: &clients.TLS{Key: "canary", Certificate: "canary"},
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, value := range []any{d, &d, struct{ D clients.Deployment }{d}, d.TLS, *d.TLS} {
			require.NotContains(t, fmt.Sprintf(verb, value), "canary", verb)
		}
	}
	require.Equal(t, "1 Redis node, 1 Sentinel, TLS, a password", d.String())
	_, err := clients.Open(d, clients.Options{})
	require.ErrorContains(t, err, "not a pair")
	require.NotContains(t, err.Error(), "canary")
}

func TestSenselessDeploymentsAreErrors(t *testing.T) {
	one, two := clients.Node{Name: "r1", Announced: "h:1"}, clients.Node{Name: "r2", Announced: "h:2"}
	for want, d := range map[string]clients.Deployment{
		"needs a node": {},
		"host:port":    {Nodes: []clients.Node{{Name: "r1", Announced: "h"}}},
		"needs a name": {Nodes: []clients.Node{{Announced: "h:1"}}},
		"there twice":  {Nodes: []clients.Node{one, {Name: "r1", Announced: "h:2"}}},
		"MasterName":   {Sentinels: []clients.Node{one}},
		"without Sentinels": {Nodes: []clients.Node{one, two},
			Sentinels: []clients.Node{{Name: "s1", Announced: "h:3"}}, MasterName: "m", Masters: 2},
		"3 Masters of 2":     {Nodes: []clients.Node{one, two}, Masters: 3},
		"no certificate in ": {Nodes: []clients.Node{one}, TLS: &clients.TLS{CA: "x"}},
	} {
		_, err := clients.Open(d, clients.Options{})
		require.ErrorContains(t, err, want)
	}
	_, err := clients.Open(clients.Deployment{Nodes: []clients.Node{one}}, clients.Options{Groups: 201})
	require.ErrorContains(t, err, "at most 200")
}
