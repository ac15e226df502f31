package explore

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// dialer opens one client's connections, in all schedules of a worker. The client's Redis client stays connected
// between schedules.
type dialer struct {
	world        *world
	client       bool                  // it opens connections for a client; false: for the harness itself
	watchers     []*conn               // connections with watched keys in this schedule
	subscribedOn *conn                 // for Observe and Finally of an adapter's program: see actor.subscribedOn
	actor        atomic.Pointer[actor] // the current schedule's client; nil: none, and commands take no step
	open         atomic.Int64          // open connections
	greeting     []string              // what the client sends on a new connection: see greetingOf
	pooled       sync.Map              // the keys are *conn: open connections in pools that libraries opened
}

// mostConnections bounds the connections that a client may have open when a schedule begins. Pools are far smaller, and
// Redis and this process have room for some thousands.
const mostConnections = 256

// checkLeaks returns an error if a client has more connections open than mostConnections. Such a client leaves
// connections open in each schedule.
func (w *world) checkLeaks() error {
	for i, d := range w.dialers {
		if n := d.open.Load(); n > mostConnections {
			return schedule.Stopped("client %d has %d open connections, and leaves more open with each schedule, "+
				"until Redis refuses further ones: let it close each connection after use, or reuse one", i+1, n)
		}
	}
	return nil
}

// takeTurn takes world.turn for a connection; the returned function gives it back. For the harness's own connections
// takeTurn does nothing, since the scheduler has the turn when they are used.
func (s *dialer) takeTurn() (end func()) {
	if !s.client {
		return func() {}
	}
	return s.world.takeTurn()
}

// acting returns the client's running actor. It is nil if no schedule is under way or the client is done.
func (s *dialer) acting() *actor {
	a := s.actor.Load()
	if a == nil {
		return nil
	}
	return a.runningActor()
}

func (s *dialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	defer s.takeTurn()()
	s.open.Add(1)
	c := &conn{dialer: s, ofAdapter: interleave.IsForAdapter(ctx), wrote: make(chan struct{}, 1),
		gone: make(chan struct{}), reply: make(chan bool)}
	if a := s.actor.Load(); a != nil && a.isCrashed() {
		c.failed = errCrashed // an error from dial itself can make a Redis client stop dialing
		return c, nil
	}
	if s.client && !c.ofAdapter && ctx.Value(ownDial{}) == nil {
		c.usedIn = s.world.schedules
		s.pooled.Store(c, true)
		return c, nil
	}
	if err := c.connect(); err != nil {
		s.open.Add(-1)
		return c, err
	}
	return c, nil
}
