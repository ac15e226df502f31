package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/cluster/clients"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// startWithin bounds the start of a cluster. A start usually takes half a second, or one second in containers. A busy
// Docker daemon takes up to 8 s for each container.
const startWithin = 3 * time.Minute

// Cluster is a Redis topology. Standalone, Replicated, Sentinel and Masters make one. A Cluster is started once and
// stopped once.
type Cluster struct {
	opts        Options
	topology    topology
	nodeHosts   // set by Start
	fabricLinks // set by Start

	subnet    subnet
	dir       string
	folder    *folder // the folder dir, with the file lock on it
	unwatch   func()  // ends the platform's watch over the folder; nil if nodes are processes
	fabric    *fabric.Fabric
	redis     []*node
	sentinels []*node
	log       *slog.Logger

	mu      sync.Mutex
	clients *clients.Set // nil until the nodes run
	used    bool
	stopped bool

	observing sync.WaitGroup
	unobserve context.CancelFunc
}

type topology struct {
	name                string
	primaries           int
	replicas, sentinels int  // how many replicas and Sentinels the primary has; 0 if there are several primaries
	quickSync           bool // see node.quickSync
}

var _ harness.System = (*Cluster)(nil)

// Standalone makes one Redis node without replicas.
func Standalone(o Options) *Cluster { return newCluster(o, topology{name: "standalone", primaries: 1}) }

// Sentinel makes a primary with replicas and Sentinels, by default two replicas and three Sentinels.
func Sentinel(o Options) *Cluster {
	o.Replicas, o.Sentinels = cmp.Or(o.Replicas, 2), cmp.Or(o.Sentinels, 3)
	return newCluster(o, topology{name: "sentinel", primaries: 1, replicas: o.Replicas, sentinels: o.Sentinels})
}

// Replicated makes a primary with replicas, two by default, and no Sentinels.
func Replicated(o Options) *Cluster {
	o.Replicas = cmp.Or(o.Replicas, 2)
	return newCluster(o, topology{name: "replicated", primaries: 1, replicas: o.Replicas, quickSync: true})
}

// Masters makes n primaries, 1 to MostMasters, that know nothing of each other, as Redlock requires. Start fails for
// any other n.
func Masters(n int, o Options) *Cluster {
	return newCluster(o, topology{name: fmt.Sprintf("masters:%d", n), primaries: n})
}

// MostMasters is the largest number of primaries that Masters makes.
const MostMasters = 9

func newCluster(o Options, t topology) *Cluster {
	return &Cluster{opts: o.withDefaults(), topology: t}
}

// Topology returns "standalone", "replicated", "sentinel" or "masters:N".
func (c *Cluster) Topology() string { return c.topology.name }

// Groups returns the number of client groups.
func (c *Cluster) Groups() int { return c.opts.ClientGroups }

// Start starts every node and returns when the cluster is whole: see AwaitWhole. It gives up after 3 min, and then
// stops what it started. It starts nothing if redis-server is missing (ErrNoRedis), if a limit of the machine is too
// low (ErrLimit), or if Options.Platform is not available. It turns off go-redis's logger for the whole process: see
// the package's documentation.
func (c *Cluster) Start(ctx context.Context, clock harness.Clock, events func(harness.Event), log *slog.Logger) error {
	if n := c.topology.primaries; n < 1 || n > MostMasters {
		return fmt.Errorf("cluster: %d masters: ask for 1 to %d", n, MostMasters)
	}
	if err := c.markUsed(); err != nil {
		return err
	}
	var err error
	if c.nodeHosts, err = c.opts.preflight(ctx, c.topology.primaries, log); err != nil {
		return err
	}
	c.log = log
	for _, w := range c.warnings {
		log.Warn("a limit may be short", "limit", w.String())
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	began := time.Now()
	if err := c.start(ctx, clock, events); err != nil {
		return errors.Join(fmt.Errorf("cluster: %s did not come up: %w", c.topology.name, err), c.Stop())
	}
	log.Info("cluster up", "topology", c.topology.name, "subnet", c.subnet.ip(0, 0), "took", time.Since(began))
	return nil
}

// markUsed marks the cluster as started. It returns an error if that was done before: a second start would lose track
// of the nodes of the first start.
func (c *Cluster) markUsed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used {
		return errors.New("cluster: a Cluster starts once: make a new one for each run")
	}
	c.used = true
	return nil
}

func (c *Cluster) start(ctx context.Context, clock harness.Clock, events func(harness.Event)) (err error) {
	if c.subnet, err = claimSubnet(); err != nil {
		return err
	}
	c.removeOrphans(ctx)
	if c.folder, err = newFolder(os.TempDir()); err != nil {
		return err
	}
	c.dir = c.folder.path
	if c.site != nil {
		if c.unwatch, err = c.site.Watch(c.dir); err != nil {
			return err
		}
	}
	if err := c.makeClocks(ctx); err != nil {
		return err
	}
	c.fabric = fabric.New()
	c.fabricLinks = clients.NewFabricLinks(c.fabric, "cluster", c.prober)
	if err := c.layOut(); err != nil {
		return err
	}
	if err := c.makeHosts(ctx); err != nil {
		return err
	}
	for _, n := range c.redis {
		if err := n.start(ctx); err != nil {
			return err
		}
	}
	// Sentinels that start earlier may know too few replicas when they are first needed.
	online := func() error { return c.allReplicasOnline(ctx, c.redis[0]) }
	if err := await.Until(ctx, 10*time.Millisecond, online); err != nil {
		return err
	}
	if err := c.openClients(clock, events); err != nil {
		return err
	}
	c.observe(clock, events)
	for _, n := range c.sentinels {
		if err := c.startSentinel(ctx, n); err != nil {
			return err
		}
	}
	return c.AwaitWhole(ctx)
}

// layOut names every node and client group, opens their addresses in the fabric and writes the nodes' configurations.
func (c *Cluster) layOut() error {
	for i := range c.topology.primaries + c.topology.replicas {
		c.redis = append(c.redis, c.newNode(fmt.Sprintf("r%d", i+1), i+1, c.subnet.ports.redis))
	}
	for i := range c.topology.sentinels {
		n := c.newNode(fmt.Sprintf("s%d", i+1), firstSentinel+i, c.subnet.ports.sentinel)
		n.sentinel = true
		c.sentinels = append(c.sentinels, n)
	}
	for g := range c.Groups() {
		c.fabric.Host(GroupName(g), c.GroupIP(g))
		c.fabric.Prober(GroupName(g), c.LookIP(g))
	}
	for i, n := range c.nodes() {
		config := ""
		switch primary := c.redis[0]; {
		case n.sentinel:
			config = sentinelConfig(n, primary, c.opts)
		case i < c.topology.primaries:
			config = redisConfig(n, nil, c.opts)
		default:
			config = redisConfig(n, primary, c.opts)
		}
		if err := c.giveClock(n); err != nil {
			return err
		}
		n.host = c.newHost(n)
		if err := n.prepare(config); err != nil {
			return err
		}
		c.fabric.Host(n.name, n.realIP)
		c.fabric.Prober(n.name, n.probeIP)
		if err := c.fabric.Listen(n.name, n.announced(), n.real()); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) newNode(name string, host, port int) *node {
	n := &node{
		quickSync: c.topology.quickSync,
		name:      name, port: port, realIP: c.subnet.ip(realPlane, host),
		announcedIP: c.subnet.ip(announcedPlane, host),
		probeIP:     c.subnet.ip(probePlane, host),
		dir:         filepath.Join(c.dir, name), logPath: filepath.Join(c.dir, name+".log"),
	}
	if c.opts.LogDir != "" {
		n.logPath = filepath.Join(c.opts.LogDir, name+".log")
	}
	return n
}

func (c *Cluster) nodes() []*node { return slices.Concat(c.redis, c.sentinels) }

func (c *Cluster) startSentinel(ctx context.Context, n *node) error {
	if err := n.start(ctx); err != nil {
		return err
	}
	if c.opts.SlowSentinels {
		return nil
	}
	err := await.Until(ctx, 20*time.Millisecond, func() error {
		err := n.admin.Do(ctx, sentinelTuning...).Err()
		if refusal := redis.Error(nil); errors.As(err, &refusal) {
			return fmt.Errorf("%w: it needs Redis 7.0 or newer: %w", await.ErrGaveUp, err)
		}
		return err // of a machine too busy to answer in time
	})
	if err != nil {
		return fmt.Errorf("cluster: tune %s: %w", n.name, err)
	}
	return nil
}

// Stop ends every process and connection of the cluster, and removes its folder. It may be called twice, and after a
// failed Start, but not while Start runs.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	var errs []error
	if c.clients != nil {
		errs = append(errs, c.clients.Close())
	}
	if c.unobserve != nil {
		c.unobserve()
	}
	errs = append(errs, c.removeHosts())
	c.observing.Wait()
	for _, n := range c.nodes() {
		errs = append(errs, n.closeAdmin())
	}
	if c.fabric != nil {
		errs = append(errs, c.fabric.Close())
	}
	if c.folder != nil {
		errs = append(errs, c.folder.remove(context.Background()))
	}
	return errors.Join(append(errs, c.subnet.release())...)
}
