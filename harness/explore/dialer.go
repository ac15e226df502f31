package explore

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// dialer opens one client's connections, in all schedules of a worker. The client's Redis client stays connected
// between schedules.
type dialer struct {
	world        *world
	client       bool                  // for a client; false: for the harness itself
	watchers     []*conn               // connections with watched keys in this schedule
	subscribedOn *conn                 // for a probe of an adapter: see actor.subscribedOn
	actor        atomic.Pointer[actor] // the current schedule's client; nil: none, and commands take no step
	open         atomic.Int64          // open connections
	greeting     []string              // what the client sends on a new connection: see greetingOf
	pooled       sync.Map              // of *conn: open connections of pools that libraries opened
}

// mostConnections bounds the connections that a client may have open when a schedule begins. Pools are far smaller, and
// Redis and this process have room for some thousands.
const mostConnections = 256

// checkLeaks returns an error if a client keeps more than mostConnections open: it leaves some open in each schedule.
func (w *world) checkLeaks() error {
	for i, d := range w.dialers {
		if n := d.open.Load(); n > mostConnections {
			return schedule.Stopped("client %d has %d open connections, and leaves more open with each schedule, "+
				"until Redis refuses further ones: let it close each connection after use, or reuse one", i+1, n)
		}
	}
	return nil
}

// takeTurn takes the world's turn for a connection; end gives it back. For the harness's own connections it does
// nothing, since they are used in the scheduler's turn.
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

// This file recognises greetings: what a library sends on a new connection outside of any operation, such as INFO,
// TIME, CLIENT SETNAME or SCRIPT LOAD. A greeting is learned when it is sent between operations. On later connections
// it passes without a step, so a schedule does not depend on whether the client reconnects.

// greets reports whether the next command is a greeting, which passes without a step. It learns the greetings that are
// sent between operations. a is the actor whose operation is under way; nil: none.
func (c *conn) greets(a *actor) bool {
	next, d := &c.Queue[0], c.dialer
	if c.used || !d.client || c.Multi || !command.Greets(next.Args) {
		return false
	}
	said := greetingOf(next.Args)
	switch {
	case a == nil && !slices.Contains(d.greeting, said):
		d.greeting = append(d.greeting, said)
	// operations do not name their connection
	case a != nil && !slices.Contains(d.greeting, said) && !(c.ofAdapter && strings.HasPrefix(said, "client ")):
		return false
	}
	next.Access, _ = command.AccessOf(next.Args)
	d.world.Scripts.Learn(next.Args)
	return true
}

// greetingOf returns what identifies a greeting: name, subcommand, and the text of a script. The rest may vary.
func greetingOf(args [][]byte) string {
	n := command.Name(args)
	switch {
	case len(args) < 2, n == "time", n == "dbsize":
		return n
	case n == "script" || n == "function":
		return n + " " + strings.ToLower(string(args[1])) + " " + string(args[len(args)-1])
	}
	return n + " " + strings.ToLower(string(args[1]))
}

// noteOutOfTurn counts a command that a client sent outside of its operations.
func (w *world) noteOutOfTurn(c command.Command) {
	w.outOfTurn++
	if text := c.Text(w.Scripts); len(w.strays) < mostStrays && !slices.Contains(w.strays, text) {
		w.strays = append(w.strays, text)
	}
}

// mostStrays bounds how many different commands out of turn are named.
const mostStrays = 3

// What follows handles connection pools that libraries open themselves, with the dialer of the Redis client they are
// given. A pool opens idle connections at any time, in its own goroutines, and a library that is created for each
// schedule leaves them open. So such a connection is connected to Redis on first use, and closed when it is left
// behind.

// mostIdle bounds how many connections of libraries' pools a client may keep from earlier schedules.
const mostIdle = 64

// ownDial is the context key that marks dials of the explorer's own Redis clients.
type ownDial struct{}

// dialsForItself is the hook that marks dials with ownDial.
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
