package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/server"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/internal/awake"
)

// world is the Redis of one worker, and what may happen to it. Whoever uses it has its turn.
type world struct {
	// turn belongs to whoever uses the world, the schedule at hand and its actors. The scheduler has it, except while
	// it waits for a client. A client that acts in goroutines of its own may so disturb a schedule, but causes no data
	// race.
	turn sync.Mutex

	*server.Server
	awake *awake.Clock

	memory         *model.Memory // what the schedule under way is to be kept in; nil: it is not kept
	strayCommands  int64         // commands that clients sent when none of their operations was under way
	strays         []string      // the first of them
	stateful       []*conn       // connections whose state others can see: reset before the next schedule
	asking         bool          // the program looks at the store, in Observe or Finally
	current        *live         // the schedule under way, or the last; nil: none
	patienceUnit   time.Duration // unit of the time-outs of subscriptions' reads
	abandonedWires []*resp.Conn  // connections that clients have left behind: closed before the next schedule

	schedules int // that were begun, really run

	program interleave.Program
	dialers []*dialer
	clients []redis.UniversalClient // one for each dialer
	probe   redis.UniversalClient   // the harness's own, never gated
	own     *dialer                 // of probe
	gates   gates                   // addresses of clients outside this process
}

// newWorld starts Redis and connects s.Clients clients and a probe. The caller has its turn until stop.
func newWorld(ctx context.Context, s *Spec) (_ *world, err error) {
	w := &world{program: s.Program, patienceUnit: patienceUnit(s.Program), awake: awake.New()}
	w.turn.Lock()
	w.Server, err = server.Start(ctx, server.Options{
		Binary: s.Redis, Replicas: s.Program.Replicas, Failover: s.Failovers > 0, Titles: s.Program.Scripts,
	})
	if err != nil {
		w.awake.Close()
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop())
		}
	}()
	if w.WhyNoClock != "" && s.Program.Lease < shortestReal {
		return nil, fmt.Errorf("%w: a lease of %v can end within one schedule, since the servers' clocks cannot be "+
			"set (%s): ask for %v or more",
			ErrSpec, s.Program.Lease, w.WhyNoClock, shortestReal)
	}
	for range s.Clients {
		d := &dialer{world: w, client: true}
		w.dialers = append(w.dialers, d)
		w.clients = append(w.clients, w.connect(d))
	}
	w.own = &dialer{world: w}
	w.probe = w.connect(w.own)
	return w, w.gates.open(s.Program.Gate, w.dialers, s.Program.Announced)
}

// shortestReal is the shortest lease that can be explored in real time.
const shortestReal = 100 * time.Millisecond

// takeTurn takes the turn for a client, or for anybody else but the scheduler; end gives it back.
func (w *world) takeTurn() (end func()) {
	w.turn.Lock()
	return w.turn.Unlock
}

// giveTurn gives the scheduler's turn to others; back takes it back.
func (w *world) giveTurn() (back func()) {
	w.turn.Unlock()
	return w.turn.Lock
}

// connect makes the Redis client behind a dialer. It has no time-outs: the scheduler decides which answers are lost.
// Its address is never dialled. It is not a name, since go-redis would look a name up, for seconds where no resolver
// answers.
func (w *world) connect(s *dialer) redis.UniversalClient {
	retries := w.program.Retries
	if retries == 0 {
		retries = -1
	}
	r := redis.NewClient(&redis.Options{
		Network: "unix", Addr: ":0", Dialer: s.dial, Protocol: 2, DisableIdentity: true,
		MaxRetries: retries, MinRetryBackoff: -1, MaxRetryBackoff: -1, DialerRetries: 1, ReadTimeout: -1,
		WriteTimeout: -1, PoolSize: 8, ConnMaxIdleTime: -1,
		ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10, PipelinePoolSize: -1,
	})
	r.AddHook(dialsForItself{})
	for _, h := range w.program.Hooks {
		r.AddHook(h)
	}
	return r
}

// mostSubscriptions bounds the subscriptions that a Redis client has left open in earlier schedules. It keeps each,
// with two buffers of 4 KB, for as long as it lives.
const mostSubscriptions = 100

// dropSubscriptions connects those clients anew that have left many subscriptions open. No schedule is under way.
func (w *world) dropSubscriptions() error {
	for i, d := range w.dialers {
		if w.clients[i].PoolStats().PubSubStats.Active <= mostSubscriptions {
			continue
		}
		d.actor.Store(nil) // connections are closed in this turn
		if err := w.clients[i].Close(); err != nil {
			return err
		}
		w.clients[i] = w.connect(d)
	}
	return nil
}

func (w *world) stop() error {
	defer w.awake.Close()
	defer w.gates.running.Wait() // some need the turn to end
	defer w.turn.Unlock()
	ended := w.endThreads()
	if errors.Is(ended, schedule.ErrStopped) { // it is of no interest how clients end that nobody searches any more
		ended = nil
	}
	back := w.giveTurn() // a connection that its program has closed takes it
	errs := []error{ended, w.gates.close()}
	back()
	for _, d := range w.dialers {
		d.actor.Store(nil) // their connections are closed in this turn
	}
	if w.probe != nil {
		errs = append(errs, w.probe.Close())
	}
	for _, c := range w.clients {
		errs = append(errs, c.Close())
	}
	for _, left := range w.abandonedWires {
		left.Close()
	}
	return errors.Join(append(errs, w.Server.Stop())...)
}

// reset prepares the world for a schedule.
func (w *world) reset() error {
	for _, left := range w.abandonedWires {
		left.Close()
	}
	w.abandonedWires = nil
	if err := w.dropSubscriptions(); err != nil {
		return err
	}
	w.closeLeftBehind()
	for _, c := range w.stateful {
		if err := c.resetState(); err != nil {
			return err
		}
	}
	w.stateful = nil
	return w.Server.Reset()
}

// saysNoScript reports whether a reply says that the script cache lacks a script.
func saysNoScript(reply []byte) bool {
	return slices.Equal(reply[:min(len(reply), 9)], []byte("-NOSCRIPT"))
}
