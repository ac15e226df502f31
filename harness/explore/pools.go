package explore

import (
	"context"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// This file lets libraries of this process have pools of their own, which they open by the dialer of the Redis client
// that they are given. A pool opens idle connections when it likes, in goroutines of its own, and a library that is
// made anew for each schedule leaves them open. So such a connection is brought to Redis when it is first used, and
// closed when it is left behind.

// mostIdle bounds the connections of libraries' own pools that a client may have from earlier schedules.
const mostIdle = 64

// ownDial marks the dials of the Redis clients that the explorer makes.
type ownDial struct{}

// dialsForItself is the hook by which they mark them.
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

// pooled holds the open connections of a client that libraries have dialled for pools of their own.
type pooled struct {
	mu   sync.Mutex
	open map[*conn]bool
}

// add notes a connection that was just dialled.
func (p *pooled) add(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[*conn]bool{}
	}
	p.open[c] = true
}

// remove forgets a connection that was closed.
func (p *pooled) remove(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

// useFirst connects a connection of a library's own pool when it is first used.
func (c *conn) useFirst() error {
	if c.usedIn = c.dialer.world.schedules; c.wire != nil || c.failed != nil || c.isGone() {
		return nil
	}
	return c.connect()
}

// leftBehind lists the connections that nobody has used in the last schedule, if there are many.
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

// closeLeftBehind closes the connections that libraries' pools have left behind. Nobody knows whether a library still
// has them: one that uses such a connection all the same finds it closed, and opens another.
func (w *world) closeLeftBehind() {
	w.schedules++
	for _, d := range w.dialers {
		for _, c := range d.pooled.leftBehind(w.schedules) {
			_ = c.Close() // it returns no error
		}
	}
}
