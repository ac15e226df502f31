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

// GroupName is the fabric's name of a client group.
func GroupName(group int) string { return fmt.Sprintf("g%d", group) }

func (c *Cluster) groupIP(group int) string { return c.subnet.ip(clientPlane, firstClient+group) }

// seat is whose a client is, and which node it is for.
type seat struct{ group, node int }

// Connect returns the client of a group, which stands for one process of an application: all workers of the group
// share it, each with a connection of its own. It never retries, since a retried command hides what became of the
// first; it obeys contexts; and with Sentinel it follows the primary as its own Sentinels see it. Of several masters it
// leads to the first.
func (c *Cluster) Connect(group int) (redis.UniversalClient, error) {
	all, err := c.connect(group, 1)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// ConnectAll returns the clients of a group for each of several masters, in the order of RedisNodes. Of other topologies
// it is the one of Connect.
func (c *Cluster) ConnectAll(group int) ([]redis.UniversalClient, error) {
	return c.connect(group, c.topology.primaries)
}

// connect returns a group's clients for the first nodes.
func (c *Cluster) connect(group, nodes int) ([]redis.UniversalClient, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopped || c.fabric == nil:
		return nil, fmt.Errorf("cluster: connect group %d: the cluster is not running", group)
	case group < 0 || group >= c.Groups():
		return nil, fmt.Errorf("cluster: connect group %d: there are %d", group, c.Groups())
	}
	var all []redis.UniversalClient
	for i := range nodes {
		s := seat{group, i}
		if c.clients[s] == nil {
			c.clients[s] = c.newClient(s)
		}
		all = append(all, c.clients[s])
	}
	return all, nil
}

// newClient makes the client of a group. It dials from the group's address, by which the fabric knows it.
func (c *Cluster) newClient(s seat) *redis.Client {
	t, dialer := c.opts.OpTimeout, dialFrom(c.groupIP(s.group))
	// With a shorter dial timeout a client whose first Sentinel is cut off stays stuck for as long as the partition.
	dial := max(2*time.Second, 4*t)
	if len(c.guards) == 0 {
		return redis.NewClient(&redis.Options{
			Addr: c.redis[s.node].announced(), Dialer: dialer,
			Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
			DialTimeout: dial, ReadTimeout: t, WriteTimeout: t, PoolTimeout: dial,
			PoolSize: c.opts.Clients, PipelinePoolSize: -1, ReadBufferSize: connBuffer, WriteBufferSize: connBuffer,
		})
	}
	var sentinels []string
	for i, guard := range c.guards {
		if !c.opts.OwnSentinel || i == s.group%len(c.guards) {
			sentinels = append(sentinels, guard.announced())
		}
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: masterName, SentinelAddrs: sentinels, Dialer: dialer,
		Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: dial, ReadTimeout: t, WriteTimeout: t, PoolTimeout: dial,
		PoolSize: c.opts.Clients, PipelinePoolSize: -1, ReadBufferSize: connBuffer, WriteBufferSize: connBuffer,
	})
}

func dialFrom(ip string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	return d.DialContext
}

// quietRedisClients turns off go-redis's logger, which is one for the whole process and reports to standard error every
// dial that a nemesis makes fail.
var quietRedisClients = sync.OnceFunc(logging.Disable)
