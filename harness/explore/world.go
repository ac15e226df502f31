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

// Nodes of a replicated world by their place: the first primary, the replica that is promoted, and one that is never
// behind, whose acknowledgement is all that WAIT 1 gets while the other hears nothing.
const (
	firstPrimary = iota
	successor
	bystander
)

// world is the Redis of one worker, and what may happen to it. Whoever uses it holds its turn.
type world struct {
	// turn guards the world, the schedule at hand and its actors. The scheduler holds it, except while it waits for a client.
	// A client that acts in goroutines of its own may so disturb a schedule, but causes no data race.
	turn sync.Mutex

	cluster  *cluster.Cluster
	names    []string
	sockets  []string
	admin    []*wire      // the explorer's own connections, one to each node
	primary  int          // index in names of the node that clients talk to
	hold     func() error // ends the hold of replication; nil: nothing is held
	moved    bool         // a failover is to be undone
	waits    bool         // clients wait for acknowledgements: replicas follow a new primary
	clean    bool         // database 0 is empty
	strays   int64        // commands that clients sent when none of their operations was under way
	stateful []*conn      // connections whose state others can see: reset before the next schedule
	asking   bool         // the program looks at the store, in Observe or Finally
	late     []*wire      // connections that clients have left behind: closed before the next schedule

	fixed   *cluster.FixedClock // the servers' time of day; nil: it cannot be set
	unset   string              // why it cannot be set; empty: it can
	unheard time.Duration       // virtual time that passed since replication was held; 0 if clocks can be set

	seats   []*seat
	clients []redis.UniversalClient // one for each seat
	probe   redis.UniversalClient   // the harness's own, never gated

	scripts map[string]string // texts of all scripts that were seen, by hash
	titles  map[string]string // names of scripts, by their text
	flushed bool              // the script cache was flushed and is to be filled again
}

// newWorld starts Redis and connects s.Clients clients and a probe. The caller holds its turn until stop.
func newWorld(ctx context.Context, s *Spec) (_ *world, err error) {
	w := &world{waits: s.Program.Replicas, scripts: map[string]string{}, titles: s.Program.Scripts}
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
	if w.unset != "" && s.Program.Lease < shortestReal {
		return nil, fmt.Errorf("%w: a lease of %v can end within one schedule, since the servers' clocks cannot be set (%s): ask for %v or more",
			ErrSpec, s.Program.Lease, w.unset, shortestReal)
	}
	for range s.Clients {
		seat := &seat{world: w, client: true}
		w.seats = append(w.seats, seat)
		w.clients = append(w.clients, w.connect(seat, s.Program))
	}
	w.probe = w.connect(&seat{world: w}, s.Program)
	return w, nil
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
		w.unset = err.Error()
	}
	return nil
}

// connect makes the Redis client of a seat. It has no time-outs: the scheduler decides which answers are lost. Its address is
// never dialled. It is not a name, since go-redis would look a name up, for seconds where no resolver answers.
func (w *world) connect(s *seat, p interleave.Program) redis.UniversalClient {
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
	defer w.turn.Unlock()
	var errs []error
	if w.probe != nil {
		errs = append(errs, w.probe.Close())
	}
	for _, c := range w.clients {
		errs = append(errs, c.Close())
	}
	for _, a := range append(w.admin, w.late...) {
		a.close()
	}
	if w.fixed != nil {
		w.fixed.Close()
	}
	if w.hold != nil {
		errs = append(errs, w.hold())
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
	if err := w.release(); err != nil {
		return err
	}
	w.unheard = 0
	for _, left := range w.late {
		left.close()
	}
	w.late = nil
	for _, c := range w.stateful {
		if err := c.restore(); err != nil {
			return err
		}
	}
	w.stateful = nil
	if !w.clean || w.moved {
		if _, err := w.admin[firstPrimary].ask(flushDB, 1); err != nil {
			return err
		}
	}
	w.clean = false
	w.setTime(0)
	if w.moved {
		if err := w.goBack(ctx); err != nil {
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

// goBack makes the first primary the primary again.
func (w *world) goBack(ctx context.Context) error {
	w.primary = firstPrimary
	for _, replica := range []int{successor, bystander} {
		if err := w.cluster.Follow(ctx, w.names[replica], w.names[firstPrimary]); err != nil {
			return err
		}
	}
	if err := w.cluster.AwaitReplicas(ctx, w.names[firstPrimary], w.names[successor], w.names[bystander]); err != nil {
		return err
	}
	w.moved = false
	return nil
}

// settleWithin is the time in milliseconds that a replica has to acknowledge what it hears: far more than it needs.
const settleWithin = "2000"

// hearing returns the number of replicas that hear what is written now.
func (w *world) hearing() int64 {
	switch {
	case len(w.names) == 1:
		return 0
	case w.hold != nil:
		return 1 // the bystander
	case w.primary == firstPrimary:
		return 2
	case w.waits:
		return 1 // the bystander, which follows the new primary
	}
	return 0
}

// holdReplication waits until the replicas have heard everything so far. From then on the one that will be promoted hears
// nothing.
func (w *world) holdReplication() error {
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
		return errors.Join(err, fmt.Errorf("explore: only %d of 2 replicas are in step", n))
	}
	w.hold, err = w.cluster.Impair(harness.Between([]string{w.names[successor]}, []string{w.names[firstPrimary]}), harness.Hold())
	return err
}

// release lets the replica that was held, if one was, hear its primary again.
func (w *world) release() error {
	if w.hold == nil {
		return nil
	}
	err := w.hold()
	w.hold = nil
	return err
}

// promote makes the replica that was held the primary. Its script cache is empty, as that of every new primary.
func (w *world) promote(ctx context.Context) error {
	w.moved = true
	if _, err := w.ask(successor, "SCRIPT", "FLUSH"); err != nil {
		return err
	}
	if err := w.cluster.Promote(ctx, w.names[successor]); err != nil {
		return err
	}
	w.primary = successor
	if w.unheard > 0 { // keys on this replica age by the time that it did not hear of
		if err := w.age(w.unheard); err != nil {
			return err
		}
	}
	if err := w.release(); err != nil {
		return err
	}
	if !w.waits {
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

// learn keeps the text of scripts that a client loads, so that reset can load them again.
func (w *world) learn(c command) {
	body := []byte(nil)
	switch n := name(c.args); {
	case n == "eval" && len(c.args) > 1:
		body = c.args[1]
	case n == "script" && len(c.args) > 2 && strings.EqualFold(string(c.args[1]), "load"):
		body = c.args[2]
	default:
		return
	}
	w.scripts[fmt.Sprintf("%x", sha1.Sum(body))] = string(body) // SHA-1 is Redis's choice
}

// missing reports whether a reply says that the script cache lacks a script.
func missing(reply []byte) bool { return slices.Equal(reply[:min(len(reply), 9)], []byte("-NOSCRIPT")) }
