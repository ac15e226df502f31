package clients

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// connBuffer is the size in bytes of a connection's buffers. It is small because thousands of connections are usual.
const connBuffer = 4 << 10

// GroupName returns the name of a client group in the fabric. Groups count from 0.
func GroupName(group int) string { return fmt.Sprintf("g%d", group) }

// Set holds the clients of a deployment. Open or OpenOver makes it, and Close ends it. It is safe for concurrent use.
type Set struct {
	fabricLinks

	deployment Deployment
	opts       Options
	ownsFabric bool // Open made the fabric: Close closes it, and unknown addresses are announced in it
	tls        *tls.Config
	services   services // nil: nothing is recorded

	mu      sync.Mutex
	nodes   map[string]*knownNode // nodes by announced address
	clients map[clientKey]*redis.Client
	closed  bool
}

// knownNode is a node that clients know by its address.
type knownNode struct {
	name, addr string
	sentinel   bool
}

// clientKey identifies a client by its group and the node to which it leads, both counted from 0.
type clientKey struct{ group, node int }

// Open returns the clients of a deployment, over a new fabric. It does not dial. It fails if d or o is not valid.
func Open(d Deployment, o Options) (*Set, error) {
	c, err := OpenOver(fabric.New(), d, o)
	if err != nil {
		return nil, err
	}
	c.ownsFabric = true
	for _, n := range slices.Concat(d.Nodes, d.Sentinels) {
		c.fabric.Announce(n.Name, n.Announced, n.real())
	}
	return c, nil
}

// OpenOver returns clients over the caller's fabric, which has to know the nodes' announced addresses. Close does not
// close that fabric.
func OpenOver(f *fabric.Fabric, d Deployment, o Options) (*Set, error) {
	quietRedisClients()
	if err := d.validate(); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	t, err := d.TLS.Config()
	if err != nil {
		return nil, err
	}
	c := &Set{
		deployment: d, opts: o, tls: t, services: newServices(o.Groups, o.OnServes),
		nodes: map[string]*knownNode{}, clients: map[clientKey]*redis.Client{},
	}
	c.fabricLinks = NewFabricLinks(f, "clients", c.proberOf)
	for _, n := range d.Nodes {
		c.nodes[n.Announced] = &knownNode{name: n.Name, addr: n.Announced}
	}
	for _, n := range d.Sentinels {
		c.nodes[n.Announced] = &knownNode{name: n.Name, addr: n.Announced, sentinel: true}
	}
	return c, nil
}

// real returns the address to dial.
func (n Node) real() string { return cmp.Or(n.Real, n.Announced) }

// quietRedisClients turns off go-redis's logger when the first clients are made. Otherwise the logger would write to
// standard error each time a fault makes a dial fail. The logger belongs to the whole process.
var quietRedisClients = sync.OnceFunc(logging.Disable)

// Groups returns the number of client groups.
func (c *Set) Groups() int { return c.opts.Groups }

// ClientGroups lists the names of the client groups in the fabric.
func (c *Set) ClientGroups() []string {
	var out []string
	for g := range c.Groups() {
		out = append(out, GroupName(g))
	}
	return out
}

// Connect returns the go-redis client of a group, counted from 0. It stands for one process of an application: all
// clients of the group share it, each on its own connection. It obeys contexts. It retries only as Options.Retries
// says, because a retry hides the effect of the first attempt.
//
// With Sentinels it follows the primary that its Sentinels name. Otherwise, also with several masters, it leads to the
// first node. With more than 1,000 clients, or with TLS, the first call for a group opens all the group's connections.
// Connect fails if there is no such group, or if the Set is closed.
func (c *Set) Connect(group int) (redis.UniversalClient, error) {
	all, err := c.connect(group, 1)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// ConnectAll returns a group's clients, one for each of several masters, in the order of the deployment's nodes. For
// any other deployment it returns only the client of Connect.
func (c *Set) ConnectAll(group int) ([]redis.UniversalClient, error) {
	return c.connect(group, max(1, c.deployment.Masters))
}

// connect returns a group's clients for the first nodes; the parameter count says for how many. With many clients, or
// with TLS, it opens the connections of clients that it has just made.
func (c *Set) connect(group, count int) ([]redis.UniversalClient, error) {
	all, fresh, err := c.clientsOf(group, count)
	if c.opts.Clients > warmClients || c.deployment.TLS != nil {
		for _, r := range fresh {
			c.openConnections(r)
		}
	}
	return all, err
}

// clientsOf returns a group's clients for the first nodes; the parameter count says for how many. It makes the missing
// clients. The second result lists those that this call has made.
func (c *Set) clientsOf(group, count int) (all []redis.UniversalClient, fresh []*redis.Client, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, nil, fmt.Errorf("clients: connect group %d: the clients are closed", group)
	case group < 0 || group >= c.Groups():
		return nil, nil, fmt.Errorf("clients: connect group %d: there are %d", group, c.Groups())
	}
	for i := range count {
		s := clientKey{group, i}
		if c.clients[s] == nil {
			c.clients[s] = c.newClient(s)
			if c.opts.Hook != nil {
				c.clients[s].AddHook(c.opts.Hook)
			}
			fresh = append(fresh, c.clients[s])
		}
		all = append(all, c.clients[s])
	}
	return all, fresh, nil
}

const (
	// warmClients is the number of clients above which connections are opened in advance. Fewer clients can open their
	// connections fast enough when they need them.
	//
	// With TLS all connections are opened in advance. Otherwise an operation might give up before its handshake is over,
	// and the next operation would begin a new handshake. The price comes after a partition: each connection to the old
	// primary times out once.
	warmClients = 1000
	warmWithin  = 10 * time.Second // time limit for opening connections in advance; the others are opened when needed
)

// openConnections opens all connections of a group in advance. Otherwise a load would open thousands of connections
// when it begins, and its first operations would time out.
func (c *Set) openConnections(r *redis.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), warmWithin)
	defer cancel()
	conns := make([]*redis.Conn, (c.opts.Clients+c.Groups()-1)/c.Groups())
	var opening sync.WaitGroup
	for i := range conns {
		conns[i] = r.Conn()                                 // its first command takes a connection and keeps it
		opening.Go(func() { _ = conns[i].Ping(ctx).Err() }) // the load will meet any error again
	}
	opening.Wait()
	for _, conn := range conns {
		_ = conn.Close() // returns to the pool
	}
}

// newClient makes the client that the key s identifies. With Sentinels the client follows the primary.
func (c *Set) newClient(s clientKey) *redis.Client {
	t, d := c.opts.OpTimeout, c.deployment
	// With a shorter dial timeout, a client whose first Sentinel is cut off stays stuck while the partition lasts.
	dial := max(2*time.Second, 4*t)
	if len(d.Sentinels) == 0 {
		return redis.NewClient(&redis.Options{
			Addr: d.Nodes[s.node].Announced, Dialer: c.clientDialer(s.group), Username: d.Username,
			Password: d.Password, DB: d.Database, Protocol: 2, DisableIdentity: true,
			MaxRetries: c.maxRetries(), DialerRetries: 1, ContextTimeoutEnabled: true,
			DialTimeout: dial, ReadTimeout: t, WriteTimeout: t, PoolTimeout: dial,
			PoolSize: c.opts.Clients, PipelinePoolSize: -1, ReadBufferSize: connBuffer, WriteBufferSize: connBuffer,
		})
	}
	var sentinels []string
	for i, sentinel := range d.Sentinels {
		if !c.opts.OwnSentinel || i == s.group%len(d.Sentinels) {
			sentinels = append(sentinels, sentinel.Announced)
		}
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: d.MasterName, SentinelAddrs: sentinels, Dialer: c.clientDialer(s.group),
		Username: d.Username, Password: d.Password, DB: d.Database,
		SentinelUsername: d.SentinelUsername, SentinelPassword: d.SentinelPassword,
		Protocol: 2, DisableIdentity: true, MaxRetries: c.maxRetries(), DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: dial, ReadTimeout: t, WriteTimeout: t, PoolTimeout: dial,
		PoolSize: c.opts.Clients, PipelinePoolSize: -1, ReadBufferSize: connBuffer, WriteBufferSize: connBuffer,
	})
}

// maxRetries returns Options.Retries in go-redis's terms, where -1 means none.
func (c *Set) maxRetries() int { return cmp.Or(c.opts.Retries, -1) }

// MarkUnwritable records that the node no longer accepts writes. If the node later acknowledges a write of a group,
// Options.OnServes is called again for this node and group.
func (c *Set) MarkUnwritable(node string) { c.services.forgetWriter(node) }

// Close closes all clients. It closes the fabric too if Open made it. Close is safe to call twice.
func (c *Set) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	var errs []error
	for _, r := range c.clients {
		errs = append(errs, r.Close())
	}
	c.mu.Unlock()
	if c.ownsFabric {
		errs = append(errs, c.fabric.Close())
	}
	return errors.Join(errs...)
}

// Name returns the name of the node that is announced at addr, or "". If Open made c, an unknown address gets a new
// name.
func (c *Set) Name(addr string) string {
	if p := c.placeOf(addr); p != nil {
		return p.name
	}
	return ""
}

// placeOf returns the node that is announced at addr, or nil. If Open made the fabric, placeOf names an unknown address
// and announces it in the fabric.
func (c *Set) placeOf(addr string) *knownNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.nodes[addr]
	if p == nil && c.ownsFabric {
		p = &knownNode{name: c.newName(), addr: addr}
		c.nodes[addr] = p
		c.fabric.Announce(p.name, addr, addr)
	}
	return p
}

// newName returns an unused name for a Redis node. An unknown address is assumed to belong to a new primary. The caller
// holds c.mu.
func (c *Set) newName() string {
	taken := map[string]bool{}
	for _, p := range c.nodes {
		taken[p.name] = true
	}
	for i := 1; ; i++ {
		if name := fmt.Sprintf("r%d", i); !taken[name] {
			return name
		}
	}
}

// Connections returns the number of connections from the client groups to the node.
func (c *Set) Connections(node string) (n int) {
	for _, g := range c.ClientGroups() {
		n += c.fabric.Link(g, node).Connections()
	}
	return n
}

// DirectAddress returns the real address of the node to which r leads, for connections that bypass all links. r is a
// client of Connect or ConnectAll. The result is empty if r does not belong to this Set, if r may switch nodes, as with
// Sentinels, or if the node needs TLS or a password.
func (c *Set) DirectAddress(r redis.UniversalClient) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.deployment; len(d.Sentinels) > 0 || d.TLS != nil || d.Password != "" {
		return ""
	}
	for key, client := range c.clients {
		if r == redis.UniversalClient(client) {
			return c.deployment.Nodes[key.node].real()
		}
	}
	return ""
}
