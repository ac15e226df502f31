package explore

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"
)

// This file handles connection pools that libraries open themselves, with the dialer of the Redis client they are
// given. A pool opens idle connections at any time, in its own goroutines, and a library that is created for each
// schedule leaves them open. So such a connection is connected to Redis on first use, and closed when it is left
// behind.

// mostIdle bounds the connections that a client's own library may keep in its pools from earlier schedules.
const mostIdle = 64

// ownDial is the context key for dials of the explorer's own Redis clients. Dials without it come from pools that
// libraries opened.
type ownDial struct{}

// dialsForItself is a hook of the explorer's own Redis clients, which puts ownDial into the contexts of their dials.
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

// connectOnUse connects a pool's connection on its first use.
func (c *conn) connectOnUse() error {
	if c.usedIn = c.dialer.world.schedules; c.wire != nil || c.failed != nil || c.isGone() {
		return nil
	}
	return c.connect()
}

// closeLeftBehind closes the connections that libraries' pools have left behind. A library that still uses one finds it
// closed and opens another.
func (w *world) closeLeftBehind() {
	w.schedules++
	for _, d := range w.dialers {
		var unused []*conn
		open := 0
		for c := range d.pooled.Range {
			open++
			if c := c.(*conn); c.usedIn < w.schedules-1 {
				unused = append(unused, c)
			}
		}
		for _, c := range unused {
			if open > mostIdle {
				_ = c.Close() // always nil
			}
		}
	}
}
