package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// startWithin bounds the start of a cluster; half a second is usual.
const startWithin = 20 * time.Second

// Cluster is a Redis topology. It is made by Standalone, Replicated or Sentinel, started once and stopped once.
type Cluster struct {
	opts     Options
	topology topology

	subnet  subnet
	dir     string
	binary  string
	spawner *spawner
	fabric  *fabric.Fabric
	redis   []*node
	guards  []*node // Sentinels
	log     *slog.Logger

	mu      sync.Mutex
	clients map[int]*redis.Client // by group
	used    bool
	stopped bool

	observing sync.WaitGroup
	unobserve context.CancelFunc
}

type topology struct {
	name                string
	replicas, sentinels int
	swift               bool // see node
}

var _ harness.System = (*Cluster)(nil)

// Standalone is one Redis without replicas.
func Standalone(o Options) *Cluster { return newCluster(o, topology{name: "standalone"}) }

// Sentinel is a primary with two replicas and three Sentinels, quorum two.
func Sentinel(o Options) *Cluster {
	return newCluster(o, topology{name: "sentinel", replicas: 2, sentinels: 3})
}

// Replicated is a primary with two replicas and nobody that watches them: failovers are made by hand, with Promote and
// Follow.
func Replicated(o Options) *Cluster {
	return newCluster(o, topology{name: "replicated", replicas: 2, swift: true})
}

func newCluster(o Options, t topology) *Cluster {
	return &Cluster{opts: o.withDefaults(), topology: t, clients: map[int]*redis.Client{}}
}

// Topology is "standalone", "replicated" or "sentinel".
func (c *Cluster) Topology() string { return c.topology.name }

// Groups is the number of client groups.
func (c *Cluster) Groups() int { return c.opts.ClientGroups }

// Start brings every node up and returns when the cluster is whole. It fails before starting anything when the machine
// has no redis-server or its limits are too low; see ErrNoRedis and ErrLimit.
func (c *Cluster) Start(ctx context.Context, clock harness.Clock, events func(harness.Event), log *slog.Logger) error {
	if err := c.use(); err != nil {
		return err
	}
	binary, err := c.opts.Preflight()
	if err != nil {
		return err
	}
	c.binary = binary
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	c.log = log
	began := time.Now()
	if err := c.start(ctx, clock, events); err != nil {
		return errors.Join(fmt.Errorf("cluster: %s did not come up: %w", c.topology.name, err), c.Stop())
	}
	log.Info("cluster up", "topology", c.topology.name, "subnet", c.subnet.ip(0, 0), "took", time.Since(began))
	return nil
}

// use marks the cluster as used: a second start would lose sight of the nodes of the first.
func (c *Cluster) use() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used {
		return errors.New("cluster: a Cluster starts once: make a new one for each run")
	}
	c.used = true
	return nil
}

func (c *Cluster) start(ctx context.Context, clock harness.Clock, events func(harness.Event)) (err error) {
	quietRedisClients()
	if c.subnet, err = claimSubnet(); err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp("", "doublegrant-"); err != nil {
		return err
	}
	c.spawner, c.fabric = newSpawner(), fabric.New()
	if err := c.layout(); err != nil {
		return err
	}
	for _, n := range c.redis {
		if err := n.start(ctx, c.spawner, c.binary); err != nil {
			return err
		}
	}
	// Sentinels that start earlier may know too few replicas when they are first needed.
	if err := await(ctx, 10*time.Millisecond, func() error { return c.replicating(ctx, c.redis[0]) }); err != nil {
		return err
	}
	c.observe(clock, events)
	for _, n := range c.guards {
		if err := c.startGuard(ctx, n); err != nil {
			return err
		}
	}
	return c.AwaitWhole(ctx)
}

// layout names every host, opens its place in the fabric and writes its configuration.
func (c *Cluster) layout() error {
	for i := range c.topology.replicas + 1 {
		c.redis = append(c.redis, c.newNode(fmt.Sprintf("r%d", i+1), i+1, redisPort))
	}
	for i := range c.topology.sentinels {
		n := c.newNode(fmt.Sprintf("s%d", i+1), 11+i, sentinelPort)
		n.sentinel = true
		c.guards = append(c.guards, n)
	}
	for g := range c.Groups() {
		c.fabric.Host(GroupName(g), c.groupIP(g))
	}
	primary := ""
	for _, n := range c.nodes() {
		config := redisConfig(n, primary, c.opts.Clients*4+1000)
		if n.sentinel {
			config = sentinelConfig(n, primary)
		}
		primary = c.redis[0].announcedIP
		if err := n.prepare(config); err != nil {
			return err
		}
		c.fabric.Host(n.name, n.realIP)
		if err := c.fabric.Listen(n.name, n.announced(), n.real()); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) newNode(name string, host, port int) *node {
	n := &node{
		swift: c.topology.swift,
		name:  name, port: port, realIP: c.subnet.ip(realPlane, host), announcedIP: c.subnet.ip(announcedPlane, host),
		dir: filepath.Join(c.dir, name), logPath: filepath.Join(c.dir, name+".log"),
	}
	if c.opts.LogDir != "" {
		n.logPath = filepath.Join(c.opts.LogDir, name+".log")
	}
	return n
}

func (c *Cluster) nodes() []*node { return append(append([]*node{}, c.redis...), c.guards...) }

func (c *Cluster) startGuard(ctx context.Context, n *node) error {
	if err := n.start(ctx, c.spawner, c.binary); err != nil {
		return err
	}
	if err := n.admin.Do(ctx, sentinelTuning...).Err(); err != nil {
		return fmt.Errorf("cluster: tune %s (needs Redis 7.0 or newer): %w", n.name, err)
	}
	return nil
}

// Stop ends every process, connection and file of the cluster. It is safe to call twice, and after a failed Start, but
// not while Start runs.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	var errs []error
	for _, cl := range c.clients {
		errs = append(errs, cl.Close())
	}
	if c.unobserve != nil {
		c.unobserve()
	}
	for _, n := range c.nodes() {
		errs = append(errs, n.kill())
	}
	c.observing.Wait()
	for _, n := range c.nodes() {
		errs = append(errs, n.closeAdmin())
	}
	if c.fabric != nil {
		errs = append(errs, c.fabric.Close())
	}
	if c.spawner != nil {
		c.spawner.close()
	}
	if c.dir != "" {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(append(errs, c.subnet.release())...)
}
