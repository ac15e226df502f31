package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness/await"
)

// node is one Redis or Sentinel.
type node struct {
	name                string // "r1" ... or "s1" ...
	realIP, announcedIP string
	probeIP             string // address from which the harness probes the node's links
	port                int
	sentinel            bool
	quickSync           bool   // replicas get in step within milliseconds, at the cost of some load while idle
	dir                 string // working folder, with the configuration that Redis rewrites
	logPath             string
	env                 []string // environment of the node's process, added to our own

	// admin and sentinelClient connect straight to the node, past the fabric, for the harness's own commands.
	admin          *redis.Client
	sentinelClient *redis.SentinelClient // nil unless the node is a Sentinel

	host Host
}

func (n *node) real() string      { return hostPort(n.realIP, n.port) }
func (n *node) announced() string { return hostPort(n.announcedIP, n.port) }
func (n *node) config() string    { return filepath.Join(n.dir, "redis.conf") }

// prepare writes the node's configuration and opens its admin client.
func (n *node) prepare(config string) error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	n.admin = redis.NewClient(n.adminOptions())
	if n.sentinel {
		n.sentinelClient = redis.NewSentinelClient(n.adminOptions())
	}
	return os.WriteFile(n.config(), []byte(config), 0o644)
}

// adminPoolSize is the PoolSize of admin clients. After that many failed dials, a go-redis client dials only once a
// second, and we would notice too late that a node is back.
const adminPoolSize = 10_000

// adminOptions returns new options for an admin client: go-redis changes the options that it gets.
func (n *node) adminOptions() *redis.Options {
	return &redis.Options{
		Addr: n.real(), Protocol: 2, DisableIdentity: true, PoolSize: adminPoolSize,
		MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second,
		ContextTimeoutEnabled: true,
	}
}

// closeAdmin closes what prepare opened.
func (n *node) closeAdmin() error {
	var errs []error
	if n.admin != nil {
		errs = append(errs, n.admin.Close())
	}
	if n.sentinelClient != nil {
		errs = append(errs, n.sentinelClient.Close())
	}
	return errors.Join(errs...)
}

// start starts the node and returns when it answers.
func (n *node) start(ctx context.Context) error {
	ended, err := n.host.Start(ctx)
	if err != nil {
		return fmt.Errorf("cluster: start %s: %w", n.name, err)
	}
	err = await.Until(ctx, 10*time.Millisecond, func() error {
		select {
		case <-ended:
			return fmt.Errorf("%w: its last words: %s", await.ErrGaveUp, lastWordsIn(n.logPath))
		default:
			if err := n.acceptsConnections(ctx); err != nil {
				return err
			}
			return n.admin.Ping(ctx).Err()
		}
	})
	if err != nil {
		return fmt.Errorf("cluster: start %s: %w", n.name, err)
	}
	return nil
}

// acceptsConnections returns nil if the node accepts connections. It does not use a go-redis client, which after some
// failed dials does not try again for a second.
func (n *node) acceptsConnections(ctx context.Context) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", n.real())
	if err != nil {
		return err
	}
	return conn.Close()
}

func (n *node) arguments() []string {
	if n.sentinel {
		return []string{n.config(), "--sentinel"}
	}
	return []string{n.config()}
}
