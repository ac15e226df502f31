package explore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

const (
	tick     = time.Millisecond // of virtual time: a step
	maxSteps = 200              // of one schedule

	stall = 2 * time.Second // in real time, for a client to reach its next command
)

// execution is one schedule under way.
type execution struct {
	spec      *Spec
	w         *world
	actors    []*actor
	now       time.Duration // virtual
	passed    time.Duration // of it, what is more than steps: leases that ended, sleeps
	looks     time.Duration // how often a client looked at its clock
	path      []Choice
	print     uint64          // of what happened: choices, names of commands and their keys
	times     []time.Duration // of the steps and, after them, of the harness's probes
	mu        sync.Mutex      // for record
	ops       []harness.Op
	left      Budget
	last      int  // the client that took the last step; -1: nobody yet
	fresh     bool // the last choice was a step of that client
	held      bool // replication is held
	used      bool // something was written since
	timed     bool // some command may have set a TTL
	disturbed bool // a script was missing for no reason of the schedule
	alarm     *time.Timer

	trace *trace // nil: nobody will read about it
}

// errStopped marks what ends a search: not a violation, and not the harness's failure either.
var errStopped = errors.New("stopped")

func stopped(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errStopped, fmt.Sprintf(format, args...))
}

// errDiverged marks a schedule that cannot be followed: the client has done something else before.
var errDiverged = fmt.Errorf("%w: a client does not do the same each time", errStopped)

func diverged(a *actor) error {
	return fmt.Errorf("%w: client %d is done where it had a step to take before", errDiverged, a.index+1)
}

// begin starts a schedule: every client runs up to its first command.
func begin(ctx context.Context, spec *Spec, w *world, alarm *time.Timer) (*execution, error) {
	if err := w.reset(ctx); err != nil {
		return nil, err
	}
	ex := &execution{spec: spec, w: w, now: tick, left: spec.budget(), last: -1, alarm: alarm}
	ex.actors = make([]*actor, spec.Clients)
	for i := range ex.actors {
		w.seats[i].actor.Store(nil)
		client := spec.Program.Open(i, w.clients[i])
		a := &actor{index: i, ex: ex, park: make(chan parked, 4), awake: make(chan bool)}
		ex.actors[i] = a
		w.seats[i].actor.Store(a)
		a.launch(ctx, client)
		if err := ex.await(a); err != nil {
			ex.abandon()
			return ex, err
		}
	}
	return ex, nil
}

// await returns when the client is parked or done.
func (ex *execution) await(a *actor) error {
	select {
	case a.at = <-a.park:
	default:
		ex.alarm.Reset(stall)
		select {
		case a.at = <-a.park:
		case <-ex.alarm.C:
			a.astray = true
			return stopped("client %d neither sent a command nor finished within %v%s", a.index+1, stall, ex.lastSent(a))
		}
	}
	if a.at.kind == atEnd {
		a.done = true
		ex.w.seats[a.index].actor.Store(nil)
		return a.at.err
	}
	return nil
}

func (ex *execution) lastSent(a *actor) string {
	if !a.started {
		return ": it never sent any"
	}
	return ": it may wait for something else than a reply"
}

// step makes a choice come true, and says what it did.
func (ex *execution) step(ctx context.Context, c Choice) (did move, err error) {
	if len(ex.path) == maxSteps {
		return did, stopped("a schedule of %d steps does not end: the last command was %s: does a client try for ever?", maxSteps, ex.spins())
	}
	ex.print = ex.printWith(c)
	ex.path = append(ex.path, c)
	ex.now = ex.now.Truncate(tick) + tick
	ex.times = append(ex.times, ex.now)
	ex.trace.start(ex, c)
	ops := len(ex.ops)
	i, isClient := c.Client()
	switch {
	case !isClient:
		did, err = ex.act(ctx, c)
	case c.IsCrash():
		did, err = ex.crash(c, ex.actors[i])
	default:
		did, err = ex.run(ctx, c, ex.actors[i])
	}
	if err != nil {
		return did, err // a client may be astray and still at work: what it records is nobody's business
	}
	ex.fresh = isClient && !c.IsCrash()
	ended := ex.ops[ops:]
	ex.observe(ctx, ended)
	ex.trace.finish(ended, ex.ops[ops+len(ended):])
	return did, err
}

// printWith is the fingerprint after a choice. Clients that follow from what they read leave the same for the same
// choices. Arguments do not count: tokens may be random.
func (ex *execution) printWith(c Choice) uint64 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, ex.print) // to memory
	_, _ = h.Write([]byte{byte(c)})
	if i, ok := c.Client(); ok {
		a := ex.actors[i]
		_, _ = h.Write([]byte{byte(a.at.kind)})
		if a.at.kind == inCommand && !a.done {
			next := a.at.conn.queue[0]
			_, _ = h.Write(next.args[0])
			for _, key := range slices.Concat(next.reads, next.writes) {
				_, _ = h.Write([]byte(key))
			}
		}
	}
	return h.Sum64()
}

// run lets a client take its next step.
func (ex *execution) run(ctx context.Context, c Choice, a *actor) (did move, err error) {
	if a.done {
		return did, diverged(a)
	}
	did = ex.next(c, a)
	ops := len(ex.ops)
	a.started = true
	ex.last = a.index
	switch a.at.kind {
	case inCommand:
		a.begin(ex.now)
		if err := ex.send(a.at.conn); err != nil {
			return did, err
		}
		ex.now += tick / 2
		a.at.conn.reply <- true
	case inSleep:
		a.begin(ex.now)
		_, _, err = ex.w.expire(a.at.sleep)
		ex.pass(a.at.sleep)
		a.awake <- true
	case inClock:
		a.begin(ex.now)
		ex.looks += tick
		a.awake <- true
	case inWork:
		a.awake <- true
	}
	if err := errors.Join(err, ex.await(a)); err != nil {
		return did, err
	}
	did.ends = len(ex.ops) > ops
	return did, nil
}

// send sends the next command of a connection and looks at the reply.
func (ex *execution) send(c *conn) error {
	next := c.queue[0]
	if next.blocks() {
		return stopped("client %d's %s waits for what others do, which cannot be explored", ex.last+1, strings.ToUpper(name(next.args)))
	}
	before := len(c.out)
	if err := c.send(); err != nil {
		return err
	}
	reply := c.out[before:]
	ex.trace.sent(ex, next, reply, c.failed)
	if ex.held && next.changes() {
		ex.used = true
	}
	ex.timed = ex.timed || next.setsTTL()
	if next.scripts {
		ex.w.learn(next)
	}
	if ex.w.primary == firstPrimary && !ex.w.flushed && missing(reply) || ex.unacknowledged(next, reply) {
		ex.disturbed = true
	}
	return nil
}

// unacknowledged reports whether a WAIT ended before the replicas that hear the primary had answered, as many as it asked
// for.
func (ex *execution) unacknowledged(c command, reply []byte) bool {
	wanted := min(c.acks(), ex.w.hearing())
	got, err := integer(reply)
	return wanted > 0 && err == nil && got < wanted
}

// crash ends a client before its next step. What its last operation came to nobody will know.
func (ex *execution) crash(c Choice, a *actor) (move, error) {
	if a.done {
		return move{}, diverged(a)
	}
	ex.left.Crashes--
	ex.end(a)
	return move{choice: c}, ex.await(a)
}

// end tells a parked client that it has crashed. It goes on to its end, but nobody hears of it any more.
func (ex *execution) end(a *actor) {
	a.crashed = true
	a.lastWord = a.inOp && a.at.kind != inWork
	if a.at.kind == inCommand {
		a.at.conn.reply <- false
	} else {
		a.awake <- false
	}
}

// act lets the world move.
func (ex *execution) act(ctx context.Context, c Choice) (move, error) {
	did := move{choice: c, world: true}
	switch c {
	case Expiry:
		ex.left.Expiries--
		return did, ex.endLeases()
	case Hold:
		ex.left.Failovers--
		ex.held = true
		return did, ex.w.holdReplication()
	case Promote:
		ex.held = false
		return did, ex.w.promote(ctx)
	case Flush:
		ex.left.Flushes--
		return did, ex.w.flush()
	}
	return did, fmt.Errorf("explore: unknown choice %v", c)
}

// endLeases lets time pass until every key with a TTL is gone, and at least for a lease where none has one.
func (ex *execution) endLeases() error {
	longest, gone, err := ex.w.expire(retention)
	if err != nil {
		return err
	}
	d := ex.spec.Program.Lease
	if longest >= 0 && gone != "" {
		d = roundUp(longest, ex.spec.Program.Lease/8) // what Redis's clock took off meanwhile
	}
	ex.pass(d + tick)
	ex.trace.expired(d, gone)
	return nil
}

func roundUp(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }

// pass lets virtual time pass.
func (ex *execution) pass(d time.Duration) {
	ex.now += d
	ex.passed += d
	if ex.held {
		ex.w.unheard += d
	}
}

// clock is what a client's clock shows.
func (ex *execution) clock(client int) time.Duration {
	t := ex.passed + ex.looks + ex.actors[client].slept
	if client == ex.spec.Clients-1 {
		t += ex.spec.Skew
	}
	return t
}

// record takes an operation that has ended.
func (ex *execution) record(op harness.Op) {
	ex.mu.Lock() // only who is astray comes at the wrong time
	defer ex.mu.Unlock()
	ex.ops = append(ex.ops, op)
}

// history is what the checkers see. Clients' ids count from 1, as people do; worker 0 is nobody.
func (ex *execution) history() harness.History {
	return harness.History{
		Meta: harness.Meta{
			Name: ex.spec.Program.Name, Workers: len(ex.actors) + 1, Clients: len(ex.actors), Groups: 1, Kinds: ex.spec.Program.Kinds,
		},
		Ops: harness.OpsOf(ex.ops),
		End: &harness.End{At: ex.now},
	}
}

// drain runs a schedule to an end that nobody will judge, so that its clients stay connected.
func (ex *execution) drain(ctx context.Context) error {
	for {
		moves := ex.moves()
		if len(moves) == 0 {
			return nil
		}
		if _, err := ex.step(ctx, moves[0].choice); err != nil {
			ex.abandon()
			return err
		}
	}
}

// abandon ends a schedule before its end: whoever is parked crashes. What goes wrong in that was reported already, or is
// the same once more.
func (ex *execution) abandon() {
	for _, a := range ex.actors {
		if a != nil && !a.done && !a.astray {
			ex.end(a)
			_ = ex.await(a)
		}
	}
}

// spins names what a client that does not end does.
func (ex *execution) spins() string {
	for _, a := range ex.actors {
		if !a.done && a.index == ex.last && a.at.kind == inCommand {
			return fmt.Sprintf("client %d's %s", a.index+1, strings.TrimSpace(a.at.conn.queue[0].text(ex.w)))
		}
	}
	return fmt.Sprintf("client %d's", ex.last+1)
}
