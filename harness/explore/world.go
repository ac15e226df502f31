package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// world is the Redis of one worker, and what may happen to it. Whoever uses it has its turn.
type world struct {
	// turn belongs to whoever uses the world, the schedule at hand and its actors. The scheduler has it, except while it waits for a
	// client. A client that acts in goroutines of its own may so disturb a schedule, but causes no data race.
	turn sync.Mutex

	cluster           *cluster.Cluster // the first primary and its replicas
	heirs             *cluster.Cluster // the successor and its replica; nil without failovers
	names             []string
	sockets           []string
	admin             []*wire       // the explorer's own connections, one to each node
	primary           int           // index in names of the node that clients talk to
	resumeReplication func() error  // lets the replica hear its primary again; nil: it does
	held              heldData      // what that replica held when replication was stopped
	awaitsAcks        bool          // clients wait for acknowledgements: a replica follows a new primary
	memory            *memory       // what the schedule under way is to be kept in; nil: it is not kept
	witnesses         []*wire       // watch keys for memory
	clean             bool          // database 0 is empty
	strayCommands     int64         // commands that clients sent when none of their operations was under way
	stateful          []*conn       // connections whose state others can see: reset before the next schedule
	asking            bool          // the program looks at the store, in Observe or Finally
	current           *execution    // the schedule under way, or the last; nil: none
	patienceUnit      time.Duration // unit of the time-outs of subscriptions' reads
	abandonedWires    []*wire       // connections that clients have left behind: closed before the next schedule

	fixed      []*cluster.FixedClock // the servers' time of day, by cluster; nil: it cannot be set
	whyNoClock string                // why it cannot be set; empty: it can
	unheard    time.Duration         // virtual time that passed since replication stopped; 0 if clocks can be set

	program interleave.Program
	dialers []*dialer
	clients []redis.UniversalClient // one for each dialer
	probe   redis.UniversalClient   // the harness's own, never gated
	own     *dialer                 // of probe
	gates   gates                   // addresses of clients outside this process

	scripts *knownScripts // all that were seen
	flushed bool          // the script cache was flushed and is to be filled again
}

// newWorld starts Redis and connects s.Clients clients and a probe. The caller has its turn until stop.
func newWorld(ctx context.Context, s *Spec) (_ *world, err error) {
	w := &world{
		program: s.Program, awaitsAcks: s.Program.Replicas, scripts: newScripts(s.Program.Scripts), patienceUnit: patienceUnit(s.Program),
	}
	w.turn.Lock()
	if err := w.start(ctx, s); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop())
		}
	}()
	for _, c := range w.clusters() {
		if err := w.dialNodes(c); err != nil {
			return nil, err
		}
	}
	if err := w.fixTime(ctx); err != nil {
		return nil, err
	}
	if w.whyNoClock != "" && s.Program.Lease < shortestReal {
		return nil, fmt.Errorf("%w: a lease of %v can end within one schedule, since the servers' clocks cannot be set (%s): ask for %v or more",
			ErrSpec, s.Program.Lease, w.whyNoClock, shortestReal)
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

// start starts Redis, with clocks that can be set if there is a compiler to make them.
func (w *world) start(ctx context.Context, s *Spec) error {
	for _, clocks := range []bool{true, false} {
		o := cluster.Options{RedisServer: s.Redis, Clocks: clocks}
		w.cluster = cluster.Standalone(o)
		if s.Program.Replicas || s.Failovers > 0 {
			w.cluster = cluster.Replicated(o)
		}
		if s.Failovers > 0 {
			w.heirs = newHeirs(w.awaitsAcks, o)
		}
		all := w.clusters()
		err := cmp.Or(await.All(len(all), func(i int) error { // what one cluster lacks the other lacks as well
			return all[i].Start(ctx, harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler))
		})...)
		if err == nil {
			err = w.joinHeirs(ctx)
		}
		if err == nil {
			return nil
		}
		for _, c := range all {
			err = errors.Join(err, c.Stop())
		}
		if !clocks || !errors.Is(err, cluster.ErrNoCompiler) {
			return err
		}
		w.whyNoClock = err.Error()
	}
	return nil
}

// clusters lists the clusters of the world.
func (w *world) clusters() []*cluster.Cluster {
	if w.heirs == nil {
		return []*cluster.Cluster{w.cluster}
	}
	return []*cluster.Cluster{w.cluster, w.heirs}
}

// dialNodes connects to each node of a cluster.
func (w *world) dialNodes(c *cluster.Cluster) error {
	for _, name := range c.RedisNodes() {
		socket, err := c.Socket(name)
		if err != nil {
			return err
		}
		admin, err := dialWire(socket)
		if err != nil {
			return err
		}
		if c == w.heirs {
			name = "heir " + name
		}
		w.names, w.sockets, w.admin = append(w.names, name), append(w.sockets, socket), append(w.admin, admin)
	}
	return nil
}

// connect makes the Redis client behind a dialer. It has no time-outs: the scheduler decides which answers are lost. Its address is
// never dialled. It is not a name, since go-redis would look a name up, for seconds where no resolver answers.
func (w *world) connect(s *dialer) redis.UniversalClient {
	retries := w.program.Retries
	if retries == 0 {
		retries = -1
	}
	r := redis.NewClient(&redis.Options{
		Network: "unix", Addr: ":0", Dialer: s.dial, Protocol: 2, DisableIdentity: true,
		MaxRetries: retries, MinRetryBackoff: -1, MaxRetryBackoff: -1, DialerRetries: 1, ReadTimeout: -1, WriteTimeout: -1, PoolSize: 8, ConnMaxIdleTime: -1,
		ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10, PipelinePoolSize: -1,
	})
	for _, h := range w.program.Hooks {
		r.AddHook(h)
	}
	return r
}

// mostSubscriptions bounds the subscriptions that a Redis client has left open in earlier schedules. It keeps each, with two buffers of
// 4 KB, for as long as it lives.
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
	defer w.gates.running.Wait() // some need the turn to end
	defer w.turn.Unlock()
	ended := w.endThreads()
	if errors.Is(ended, errStopped) { // it is of no interest how clients end that nobody searches any more
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
	w.closeWitnesses()
	for _, a := range append(w.admin, w.abandonedWires...) {
		a.close()
	}
	for _, clock := range w.fixed {
		clock.Close()
	}
	if w.resumeReplication != nil {
		errs = append(errs, w.resumeReplication())
	}
	for _, c := range w.clusters() {
		errs = append(errs, c.Stop())
	}
	return errors.Join(errs...)
}

// ask sends one command to a node.
func (w *world) ask(node int, args ...string) ([]byte, error) {
	reply, err := w.admin[node].ask(request(args...), 1)
	if err == nil && reply[0] == '-' {
		err = fmt.Errorf("explore: %s refused %s: %s", w.names[node], args[0], replyText(reply))
	}
	return reply, err
}

// askAll sends several commands to a node, and returns the reply to each.
func (w *world) askAll(node int, requests []byte, n int) (replies [][]byte, err error) {
	all, err := w.admin[node].ask(requests, n)
	for len(all) > 0 && err == nil {
		size, _ := replySize(all) // ask has measured it
		if all[0] == '-' {
			return nil, fmt.Errorf("explore: %s refused a command of the explorer's own: %s", w.names[node], replyText(all[:size]))
		}
		replies, all = append(replies, all[:size]), all[size:]
	}
	return replies, err
}

// flushDB empties the node between schedules. It takes a third of the time of FLUSHALL, and clients use database 0 only.
var flushDB = request("FLUSHDB")

// reset prepares the world for a schedule: no keys, the first primary, and in its cache the scripts that were seen so far.
func (w *world) reset() error {
	if err := w.resumeIfStopped(); err != nil {
		return err
	}
	w.unheard = 0
	for _, left := range w.abandonedWires {
		left.close()
	}
	w.abandonedWires = nil
	if err := w.dropSubscriptions(); err != nil {
		return err
	}
	for _, c := range w.stateful {
		if err := c.resetState(); err != nil {
			return err
		}
	}
	w.stateful = nil
	if !w.clean || w.primary != firstPrimary {
		if _, err := w.admin[firstPrimary].ask(flushDB, 1); err != nil {
			return err
		}
	}
	w.clean = false
	w.setTime(0)
	if w.primary != firstPrimary {
		w.primary = firstPrimary
		w.closeWitnesses()
	}
	if w.flushed {
		for _, hash := range w.scripts.hashes() {
			if _, err := w.ask(firstPrimary, "SCRIPT", "LOAD", w.scripts.textOf(hash)); err != nil {
				return err
			}
		}
		w.flushed = false
	}
	return nil
}

// flush empties the script cache.
func (w *world) flush() error {
	w.flushed = true
	_, err := w.ask(w.primary, "SCRIPT", "FLUSH")
	return err
}

// saysNoScript reports whether a reply says that the script cache lacks a script.
func saysNoScript(reply []byte) bool {
	return slices.Equal(reply[:min(len(reply), 9)], []byte("-NOSCRIPT"))
}
