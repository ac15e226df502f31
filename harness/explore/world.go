package explore

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Nodes of a replicated world by their number: the first primary, the replica that is promoted, and one that is never
// behind, whose acknowledgement is all that WAIT 1 gets while the other hears nothing.
const (
	firstPrimary = iota
	successor
	bystander
)

// world is the Redis of one worker, and what may happen to it. Whoever uses it has its turn.
type world struct {
	// turn belongs to whoever uses the world, the schedule at hand and its actors. The scheduler has it, except while it waits for a
	// client. A client that acts in goroutines of its own may so disturb a schedule, but causes no data race.
	turn sync.Mutex

	cluster           *cluster.Cluster
	names             []string
	sockets           []string
	admin             []*wire       // the explorer's own connections, one to each node
	primary           int           // index in names of the node that clients talk to
	resumeReplication func() error  // lets the replica hear its primary again; nil: it does
	failedOver        bool          // a failover is to be undone
	awaitsAcks        bool          // clients wait for acknowledgements: replicas follow a new primary
	memory            *memory       // what the schedule under way is to be kept in; nil: it is not kept
	witnesses         []*wire       // watch keys for memory
	clean             bool          // database 0 is empty
	strayCommands     int64         // commands that clients sent when none of their operations was under way
	stateful          []*conn       // connections whose state others can see: reset before the next schedule
	asking            bool          // the program looks at the store, in Observe or Finally
	current           *execution    // the schedule under way, or the last; nil: none
	patienceUnit      time.Duration // unit of the time-outs of subscriptions' reads
	abandonedWires    []*wire       // connections that clients have left behind: closed before the next schedule

	fixed      *cluster.FixedClock // the servers' time of day; nil: it cannot be set
	whyNoClock string              // why it cannot be set; empty: it can
	unheard    time.Duration       // virtual time that passed since replication stopped; 0 if clocks can be set

	dialers []*dialer
	clients []redis.UniversalClient // one for each dialer
	probe   redis.UniversalClient   // the harness's own, never gated
	gates   gates                   // addresses of clients outside this process

	scripts map[string]string // texts of all scripts that were seen, by hash
	titles  map[string]string // names of scripts, by their text
	flushed bool              // the script cache was flushed and is to be filled again
}

// newWorld starts Redis and connects s.Clients clients and a probe. The caller has its turn until stop.
func newWorld(ctx context.Context, s *Spec) (_ *world, err error) {
	w := &world{awaitsAcks: s.Program.Replicas, scripts: map[string]string{}, titles: s.Program.Scripts, patienceUnit: patienceUnit(s.Program)}
	w.turn.Lock()
	if err := w.start(ctx, s); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop())
		}
	}()
	w.names = w.cluster.RedisNodes()
	for _, name := range w.names {
		socket, err := w.cluster.Socket(name)
		if err != nil {
			return nil, err
		}
		admin, err := dialWire(socket)
		if err != nil {
			return nil, err
		}
		w.sockets, w.admin = append(w.sockets, socket), append(w.admin, admin)
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
		w.clients = append(w.clients, w.connect(d, s.Program))
	}
	w.probe = w.connect(&dialer{world: w}, s.Program)
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
	make := cluster.Standalone
	if s.Program.Replicas || s.Failovers > 0 {
		make = cluster.Replicated
	}
	for _, clocks := range []bool{true, false} {
		w.cluster = make(cluster.Options{RedisServer: s.Redis, Clocks: clocks})
		err := w.cluster.Start(ctx, harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler))
		if err == nil || !clocks || !errors.Is(err, cluster.ErrNoCompiler) {
			return err
		}
		w.whyNoClock = err.Error()
	}
	return nil
}

// connect makes the Redis client behind a dialer. It has no time-outs: the scheduler decides which answers are lost. Its address is
// never dialled. It is not a name, since go-redis would look a name up, for seconds where no resolver answers.
func (w *world) connect(s *dialer, p interleave.Program) redis.UniversalClient {
	retries := p.Retries
	if retries == 0 {
		retries = -1
	}
	r := redis.NewClient(&redis.Options{
		Network: "unix", Addr: ":0", Dialer: s.dial, Protocol: 2, DisableIdentity: true,
		MaxRetries: retries, MinRetryBackoff: -1, MaxRetryBackoff: -1, DialerRetries: 1, ReadTimeout: -1, WriteTimeout: -1, PoolSize: 8, ConnMaxIdleTime: -1,
		ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10, PipelinePoolSize: -1,
	})
	for _, h := range p.Hooks {
		r.AddHook(h)
	}
	return r
}

func (w *world) stop() error {
	defer w.gates.running.Wait() // some need the turn to end
	defer w.turn.Unlock()
	errs := []error{w.endThreads(), w.gates.close()}
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
	if w.fixed != nil {
		w.fixed.Close()
	}
	if w.resumeReplication != nil {
		errs = append(errs, w.resumeReplication())
	}
	return errors.Join(append(errs, w.cluster.Stop())...)
}

// ask sends one command to a node.
func (w *world) ask(node int, args ...string) ([]byte, error) {
	reply, err := w.admin[node].ask(request(args...), 1)
	if err == nil && reply[0] == '-' {
		err = fmt.Errorf("explore: %s refused %s: %s", w.names[node], args[0], replyText(reply))
	}
	return reply, err
}

// flushDB empties the node between schedules. It takes a third of the time of FLUSHALL, and clients use database 0 only.
var flushDB = request("FLUSHDB")

// reset prepares the world for a schedule: no keys, the first primary, and in its cache the scripts that were seen so far.
func (w *world) reset(ctx context.Context) error {
	if err := w.resumeIfStopped(); err != nil {
		return err
	}
	w.unheard = 0
	for _, left := range w.abandonedWires {
		left.close()
	}
	w.abandonedWires = nil
	for _, c := range w.stateful {
		if err := c.resetState(); err != nil {
			return err
		}
	}
	w.stateful = nil
	if !w.clean || w.failedOver {
		if _, err := w.admin[firstPrimary].ask(flushDB, 1); err != nil {
			return err
		}
	}
	w.clean = false
	w.setTime(0)
	if w.failedOver {
		if err := w.undoFailover(ctx); err != nil {
			return fmt.Errorf("explore: undo a failover: %w", err)
		}
	}
	if w.flushed {
		for _, body := range w.scripts {
			if _, err := w.ask(firstPrimary, "SCRIPT", "LOAD", body); err != nil {
				return err
			}
		}
		w.flushed = false
	}
	return nil
}

// undoFailover makes the first primary the primary again.
func (w *world) undoFailover(ctx context.Context) error {
	w.primary = firstPrimary
	w.closeWitnesses()
	for _, replica := range []int{successor, bystander} {
		if err := w.cluster.Follow(ctx, w.names[replica], w.names[firstPrimary]); err != nil {
			return err
		}
	}
	if err := w.cluster.AwaitReplicas(ctx, w.names[firstPrimary], w.names[successor], w.names[bystander]); err != nil {
		return err
	}
	w.failedOver = false
	return nil
}

// settleWithin is the time in milliseconds that a replica has to acknowledge what it hears: far more than it needs.
const settleWithin = "2000"

// hearingReplicas returns the number of replicas that hear what is written now.
func (w *world) hearingReplicas() int64 {
	switch {
	case len(w.names) == 1:
		return 0
	case w.resumeReplication != nil:
		return 1 // the bystander
	case w.primary == firstPrimary:
		return 2
	case w.awaitsAcks:
		return 1 // the bystander, which follows the new primary
	}
	return 0
}

// stopReplication waits until the replicas have heard everything so far. From then on the one that will be promoted hears
// nothing.
func (w *world) stopReplication() error {
	const mark = "{doublegrant}" // WAIT counts from the last write of its own connection
	for _, args := range [][]string{{"SET", mark, ""}, {"DEL", mark}} {
		if _, err := w.ask(firstPrimary, args...); err != nil {
			return err
		}
	}
	reply, err := w.ask(firstPrimary, "WAIT", "2", settleWithin)
	if err != nil {
		return err
	}
	if n, err := integer(reply); err != nil || n < 2 {
		return errors.Join(err, fmt.Errorf("explore: only %d of 2 replicas have heard everything", n))
	}
	w.resumeReplication, err = w.cluster.Impair(harness.Between([]string{w.names[successor]}, []string{w.names[firstPrimary]}), harness.Withhold())
	return err
}

// resumeIfStopped lets the replica that hears nothing, if there is one, hear its primary again.
func (w *world) resumeIfStopped() error {
	if w.resumeReplication == nil {
		return nil
	}
	err := w.resumeReplication()
	w.resumeReplication = nil
	return err
}

// promote makes the replica that hears nothing the primary. Its script cache is empty, as that of every new primary.
func (w *world) promote(ctx context.Context) error {
	w.failedOver = true
	if _, err := w.ask(successor, "SCRIPT", "FLUSH"); err != nil {
		return err
	}
	if err := w.cluster.Promote(ctx, w.names[successor]); err != nil {
		return err
	}
	w.primary = successor
	w.closeWitnesses()
	if w.unheard > 0 { // keys on this replica age by the time that it did not hear of
		if err := w.ageKeys(w.unheard); err != nil {
			return err
		}
	}
	if err := w.resumeIfStopped(); err != nil {
		return err
	}
	if !w.awaitsAcks {
		return nil
	}
	if err := w.cluster.Follow(ctx, w.names[bystander], w.names[successor]); err != nil {
		return err
	}
	return w.cluster.AwaitReplicas(ctx, w.names[successor], w.names[bystander])
}

// flush empties the script cache.
func (w *world) flush() error {
	w.flushed = true
	_, err := w.ask(w.primary, "SCRIPT", "FLUSH")
	return err
}

// learnScript keeps the text of scripts that a client loads, so that reset can load them again.
func (w *world) learnScript(c command) {
	body := []byte(nil)
	switch n := commandName(c.args); {
	case n == "eval" && len(c.args) > 1:
		body = c.args[1]
	case n == "script" && len(c.args) > 2 && strings.EqualFold(string(c.args[1]), "load"):
		body = c.args[2]
	default:
		return
	}
	w.scripts[fmt.Sprintf("%x", sha1.Sum(body))] = string(body) // SHA-1 is Redis's choice
}

// saysNoScript reports whether a reply says that the script cache lacks a script.
func saysNoScript(reply []byte) bool {
	return slices.Equal(reply[:min(len(reply), 9)], []byte("-NOSCRIPT"))
}
