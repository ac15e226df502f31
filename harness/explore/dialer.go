package explore

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// dialer is the place of one client in all schedules of a worker. Its Redis client stays connected from one to the
// next.
type dialer struct {
	world    *world
	client   bool                  // it is a client's, not the harness's own
	watchers []*conn               // connections on which the client has watched keys in this schedule
	listens  *conn                 // of a program outside with which the harness looks: by which it has subscribed last; nil: none
	actor    atomic.Pointer[actor] // the client of the current schedule; nil: none, and its connections pass everything
	open     atomic.Int64          // its connections that nobody has closed
	greeting []string              // what it sends when it connects: see greetingOf
	pooled   pooled                // connections of pools that libraries have made themselves
}

// mostConnections bounds the connections that a client has open when a schedule begins. Pools are smaller by far, and
// Redis, with the files of this process, has room for some thousands.
const mostConnections = 256

// checkLeaks returns an error if some client leaves connections open in each schedule.
func (w *world) checkLeaks() error {
	for i, d := range w.dialers {
		if n := d.open.Load(); n > mostConnections {
			return schedule.Stopped("client %d has %d connections open, and leaves more open with each schedule, so "+
				"Redis would soon take no others: "+
				"let it close each that it is done with, or keep one and use it again", i+1, n)
		}
	}
	return nil
}

// takeTurn takes the world's turn for a connection; end gives it back. The harness's own connection works in the
// scheduler's turn, so for it takeTurn does nothing.
func (s *dialer) takeTurn() (end func()) {
	if !s.client {
		return func() {}
	}
	return s.world.takeTurn()
}

// acting returns the actor of the client that runs now. It is nil if no schedule is under way, or the client is done.
func (s *dialer) acting() *actor {
	a := s.actor.Load()
	if a == nil {
		return nil
	}
	return a.running()
}

// dial opens a connection. The Redis client calls it.
func (s *dialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	defer s.takeTurn()()
	s.open.Add(1)
	c := &conn{dialer: s, outside: interleave.IsForProgram(ctx), wrote: make(chan struct{}, 1),
		gone: make(chan struct{}), reply: make(chan bool)}
	if a := s.actor.Load(); a != nil && a.isCrashed() {
		c.failed = errCrashed // not an error of dial: after some of those a Redis client stops dialing
		return c, nil
	}
	if s.client && !c.outside && ctx.Value(ownDial{}) == nil {
		c.usedIn = s.world.schedules
		s.pooled.add(c)
		return c, nil
	}
	if err := c.connect(); err != nil {
		s.open.Add(-1)
		return c, err
	}
	return c, nil
}
