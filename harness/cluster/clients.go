package cluster

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

const (
	connBuffer  = 4 << 10 // thousands of connections are the normal case
	firstClient = 1       // host number of client group 0
)

// GroupName returns the fabric's name of a client group, counted from 0.
func GroupName(group int) string { return fmt.Sprintf("g%d", group) }

func (c *Cluster) groupIP(group int) string { return c.subnet.ip(clientPlane, firstClient+group) }

// lookIP returns the address from which the harness looks at a group's links.
func (c *Cluster) lookIP(group int) string { return c.subnet.ip(lookPlane, firstClient+group) }

// clientKey tells the group of a client, and the node to which it leads, both counted from 0.
type clientKey struct{ group, node int }

// Connect returns the client of a group, counted from 0. It stands for one process of an application: all workers of the group
// share it, and each has a connection of its own while it uses it. It retries only as Options.Retries says, since a retried
// command hides what became of the first. It obeys contexts. With Sentinels it follows the primary as its own Sentinels see
// it. Without Sentinels, and of several masters, it leads to the first node, also after Promote. With more than 1,000 clients,
// the first call for a group opens all its connections. An error says that the cluster is not running, or that there is no such
// group.
func (c *Cluster) Connect(group int) (redis.UniversalClient, error) {
	all, err := c.connect(group, 1)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// ConnectAll returns the clients of a group for each of several masters, in the order of RedisNodes. For any other topology
// that is the one client of Connect.
func (c *Cluster) ConnectAll(group int) ([]redis.UniversalClient, error) {
	return c.connect(group, c.topology.primaries)
}

// connect returns a group's clients for the first nodes.
func (c *Cluster) connect(group, nodes int) ([]redis.UniversalClient, error) {
	all, fresh, err := c.clientsOf(group, nodes)
	if c.opts.Clients > warmFrom {
		for _, r := range fresh {
			c.openConnections(r)
		}
	}
	return all, err
}

// clientsOf returns a group's clients for the first nodes, and those of them that are new.
func (c *Cluster) clientsOf(group, nodes int) (all []redis.UniversalClient, fresh []*redis.Client, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopped || c.fabric == nil:
		return nil, nil, fmt.Errorf("cluster: connect group %d: the cluster is not running", group)
	case group < 0 || group >= c.Groups():
		return nil, nil, fmt.Errorf("cluster: connect group %d: there are %d", group, c.Groups())
	}
	for i := range nodes {
		s := clientKey{group, i}
		if c.clients[s] == nil {
			c.clients[s] = c.newClient(s)
			fresh = append(fresh, c.clients[s])
		}
		all = append(all, c.clients[s])
	}
	return all, fresh, nil
}

const (
	// warmFrom is the number of clients above which connections are opened beforehand. Fewer clients open theirs in a moment.
	// An idle connection has its price: after a partition, each that leads to the old primary costs whoever takes it a timeout.
	warmFrom   = 1000
	warmWithin = 10 * time.Second // bound of the opening; the rest is opened when needed
)

// openConnections opens a connection for each worker of a group. Left to the load, thousands would be opened in its first moments, and
// the first operations time out meanwhile.
func (c *Cluster) openConnections(r *redis.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), warmWithin)
	defer cancel()
	conns := make([]*redis.Conn, (c.opts.Clients+c.Groups()-1)/c.Groups())
	var opening sync.WaitGroup
	for i := range conns {
		conns[i] = r.Conn()                                 // its first command takes a connection, which it keeps
		opening.Go(func() { _ = conns[i].Ping(ctx).Err() }) // what is wrong is found by the load
	}
	opening.Wait()
	for _, conn := range conns {
		_ = conn.Close() // back to the pool
	}
}

// newClient makes the client of a group. It dials from the group's address, by which the fabric knows it.
func (c *Cluster) newClient(s clientKey) *redis.Client {
	t, dialer := c.opts.OpTimeout, c.services.dialNoting(s.group, c.redis, c.dialAs(c.groupIP(s.group)))
	// With a shorter dial timeout a client whose first Sentinel is cut off stays stuck for as long as the partition.
	dial := max(2*time.Second, 4*t)
	if len(c.sentinels) == 0 {
		return redis.NewClient(&redis.Options{
			Addr: c.redis[s.node].announced(), Dialer: dialer,
			Protocol: 2, DisableIdentity: true, MaxRetries: c.maxRetries(), DialerRetries: 1, ContextTimeoutEnabled: true,
			DialTimeout: dial, ReadTimeout: t, WriteTimeout: t, PoolTimeout: dial,
			PoolSize: c.opts.Clients, PipelinePoolSize: -1, ReadBufferSize: connBuffer, WriteBufferSize: connBuffer,
		})
	}
	var sentinels []string
	for i, sentinel := range c.sentinels {
		if !c.opts.OwnSentinel || i == s.group%len(c.sentinels) {
			sentinels = append(sentinels, sentinel.announced())
		}
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: masterName, SentinelAddrs: sentinels, Dialer: dialer,
		Protocol: 2, DisableIdentity: true, MaxRetries: c.maxRetries(), DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: dial, ReadTimeout: t, WriteTimeout: t, PoolTimeout: dial,
		PoolSize: c.opts.Clients, PipelinePoolSize: -1, ReadBufferSize: connBuffer, WriteBufferSize: connBuffer,
	})
}

// maxRetries returns Options.Retries in go-redis's terms: -1 means none.
func (c *Cluster) maxRetries() int {
	if c.opts.Retries == 0 {
		return -1
	}
	return c.opts.Retries
}

// dialAs returns the dialer that opens a client group's connections.
func (c *Cluster) dialAs(group string) dialer {
	return func(ctx context.Context, _, addr string) (net.Conn, error) { return c.fabric.Dial(ctx, group, addr) }
}

// dialer opens connections for a client library.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// quietRedisClients turns off go-redis's logger for the whole process, when the first cluster starts: it would report every dial
// that a nemesis makes fail to standard error. go-redis has one logger for all clients.
var quietRedisClients = sync.OnceFunc(logging.Disable)
