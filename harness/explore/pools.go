package explore

import (
	"context"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// This file handles connection pools that libraries open themselves, with the dialer of the Redis client they are
// given. A pool opens idle connections at any time, in its own goroutines, and a library that is created for each
// schedule leaves them open. So such a connection is connected to Redis on first use, and closed when it is left
// behind.

// mostIdle bounds the connections of such pools that a client may keep from earlier schedules.
const mostIdle = 64

// ownDial marks dials of the explorer's Redis clients.
type ownDial struct{}

// dialsForItself is the hook that sets the mark.
type dialsForItself struct{}

var _ redis.Hook = dialsForItself{}

func (dialsForItself) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		return next(context.WithValue(ctx, ownDial{}, true), network, addr)
	}
}

func (dialsForItself) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (dialsForItself) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// pooled holds a client's open connections from libraries' own pools.
type pooled struct {
	mu   sync.Mutex
	open map[*conn]bool
}

// add stores a new connection.
func (p *pooled) add(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[*conn]bool{}
	}
	p.open[c] = true
}

// remove removes a closed connection.
func (p *pooled) remove(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

// connectOnUse connects a pool's connection on its first use.
func (c *conn) connectOnUse() error {
	if c.usedIn = c.dialer.world.schedules; c.wire != nil || c.failed != nil || c.isGone() {
		return nil
	}
	return c.connect()
}

// leftBehind lists the connections that were not used in the last schedule, if there are more than mostIdle in all.
func (p *pooled) leftBehind(schedules int) (all []*conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) <= mostIdle {
		return nil
	}
	for c := range p.open {
		if c.usedIn < schedules-1 {
			all = append(all, c)
		}
	}
	return all
}

// closeLeftBehind closes the connections that libraries' pools have left behind. A library that still uses one finds it
// closed and opens another.
func (w *world) closeLeftBehind() {
	w.schedules++
	for _, d := range w.dialers {
		for _, c := range d.pooled.leftBehind(w.schedules) {
			_ = c.Close() // always nil
		}
	}
}
