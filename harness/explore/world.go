package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/server"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/internal/awake"
)

// world is the Redis of one worker with its clients. Only the holder of its turn may use it.
type world struct {
	// turn guards the world, the current schedule and its actors. The scheduler holds it, except while it waits for a
	// client. So goroutines that a client starts by itself may disturb a schedule, but they cause no data race.
	turn sync.Mutex

	*server.Server
	awake *awake.Clock

	memory          *model.Memory // the model that learns from the current schedule; nil: none
	outOfTurn       int64         // commands that clients sent outside of their operations
	strays          []string      // the first of these commands, as text
	stateful        []*conn       // connections whose state others can see; they are reset before the next schedule
	asking          bool          // Program.Observe or Program.Finally is being called
	current         *live         // current or last live schedule; nil: none
	readTimeoutUnit time.Duration // unit of subscriptions' read time-outs
	abandonedWires  []*resp.Conn  // connections that clients have given up; they are closed before the next schedule

	schedules int // number of live schedules

	program     interleave.Program
	dialers     []*dialer
	clients     []redis.UniversalClient // one for each dialer
	probe       redis.UniversalClient   // the harness's own client, without a gate
	probeDialer *dialer                 // the dialer of probe
	gates       gates                   // the addresses at which adapters reach Redis
}

// startWorlds starts a world for each worker. If one cannot start, it stops the others.
func startWorlds(ctx context.Context, spec *Spec) ([]*world, error) {
	worlds := make([]*world, spec.Workers)
	err := errors.Join(await.All(len(worlds), func(i int) (err error) {
		worlds[i], err = newWorld(ctx, spec)
		return err
	})...)
	if err == nil {
		return worlds, nil
	}
	for _, w := range worlds {
		if w != nil {
			err = errors.Join(err, w.stop())
		}
	}
	return nil, err
}

// newWorld starts Redis and connects s.Clients clients and a probe. The caller holds world.turn until it calls w.stop.
// A client's goroutine runs only when the caller gives it the turn.
func newWorld(ctx context.Context, s *Spec) (_ *world, err error) {
	w := &world{program: s.Program, readTimeoutUnit: readTimeoutUnit(s.Program), awake: awake.New()}
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
	w.probeDialer = &dialer{world: w}
	w.probe = w.connect(w.probeDialer)
	return w, w.gates.open(s.Program.Gate, w.dialers, s.Program.Announced)
}

// shortestReal is the shortest lease that can be explored in real time.
const shortestReal = 100 * time.Millisecond

// takeTurn takes world.turn, for a client or another goroutine; the returned function gives it back.
func (w *world) takeTurn() (end func()) {
	w.turn.Lock()
	return w.turn.Unlock
}

// giveTurn lets go of world.turn, which its caller, the scheduler, holds. The returned function takes it again.
func (w *world) giveTurn() (back func()) {
	w.turn.Unlock()
	return w.turn.Lock
}

// connect makes the Redis client for a dialer. The client has no time-outs, since the scheduler decides which answers
// are lost. Its address is never dialled. The address is not a host name, since go-redis would resolve that, which
// takes seconds if no resolver answers.
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

// mostSubscriptions bounds how many subscriptions a Redis client may have left open. The client keeps each one as long
// as it lives, with two buffers of 4 KB.
const mostSubscriptions = 100

// dropSubscriptions replaces Redis clients that have left many subscriptions open. It is called between schedules.
func (w *world) dropSubscriptions() error {
	for i, d := range w.dialers {
		if w.clients[i].PoolStats().PubSubStats.Active <= mostSubscriptions {
			continue
		}
		d.actor.Store(nil) // its connections are closed in this turn
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
	if errors.Is(ended, schedule.ErrStopped) { // how the clients end does not matter any more
		ended = nil
	}
	back := w.giveTurn() // a connection that its program closes takes the turn
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
	for _, wire := range w.abandonedWires {
		wire.Close()
	}
	return errors.Join(append(errs, w.Server.Stop())...)
}

func (w *world) reset() error {
	for _, wire := range w.abandonedWires {
		wire.Close()
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

// saysNoScript reports whether a reply says that Redis lacks a script.
func saysNoScript(reply []byte) bool {
	return slices.Equal(reply[:min(len(reply), 9)], []byte("-NOSCRIPT"))
}
