package explore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
)

// errCrashed is the error that connections return to a client that crashed.
var errCrashed = errors.New("explore: this client has crashed")

// actor is one thread of a client in one schedule. It is usually a goroutine. Most of the time this goroutine is
// parked: it waits until the scheduler lets it go on. An actor with a subscriptionConn has no goroutine, and each of
// its steps sends a command of that connection. Only the holder of world.turn may use an actor's fields.
type actor struct {
	index            int   // number of its client, from 0
	thread           int   // its number among the client's threads; the client's Step runs in thread 0
	subscriptionConn *conn // the subscribed connection whose commands this actor sends; nil: the actor is a goroutine
	ex               *execution
	live             *live // the schedule's live backend; nil: the schedule is run from memory
	// for an adapter's client: the connection whose command is under way; nil: none
	sending atomic.Pointer[conn]

	park  chan parked // carries where the client waits, or that it is done, to the scheduler
	awake chan bool   // lets the client go on; false: the client has crashed

	parkedAt parked
	// virtual time at which the actor's sleep ends; in the past: the actor does not sleep. For an actor that waits for
	// Redis: virtual time at which the wait times out; 0: never
	wakeAt      time.Duration
	started     bool // has taken its first step
	done        bool
	crashed     bool
	neverParked bool // did not park in time, and cannot be ended
	goroutine   int  // ID of its goroutine
	refusals    int  // attempts to go on since its client crashed

	currentOp
	betweenOps        bool // the last operation has ended, and the next has not begun
	sleepsBetweenOps  bool // it sleeps between two operations: the next begins when it wakes
	lastOpSentNothing bool // the last operation sent no command; for clients that share a process
	records           int  // number of operations that have ended

	// everything that the client has read, if the model learns from the schedule or the schedule is run from memory
	mind       *model.Mind
	lastEvent  model.Event     // what it read or noticed last
	acts       []model.Act     // what it has done since then
	watched    []model.Watched // keys under WATCH
	clockReads int             // how often it read the schedule's time
	lookedAt   time.Duration   // what its clock showed last; 0: the clock was never read

	subscribedOn     *conn // for an adapter's client: the connection that subscribed last; nil: none
	expectsSubscribe bool  // for an adapter's client: a SUBSCRIBE was announced and has not arrived
}

// currentOp is an actor's operation that has not ended.
type currentOp struct {
	inOp              bool          // an operation has begun: it has sent a command or read a clock
	callAt            time.Duration // virtual time at which it began
	tookEffect        bool          // it has taken effect: see takesEffect
	tookEffectAt      time.Duration // virtual time at which it took effect
	slept             bool          // it has slept, so its client knows how much time has passed
	commands          int           // number of commands that it has sent
	unansweredCommand []byte        // a command that was executed without an answer; nil: none
	cutOffUnrecorded  bool          // a crash interrupted it, and it is not recorded yet
}

// parked says how an actor waits for the scheduler: the kind of wait, and what the wait is for.
type parked struct {
	model.Stop
	conn   *conn           // for InCommand and InRead; nil if the schedule is run from memory
	thread *actor          // for InJoin
	ended  bool            // for InNap in a schedule from memory: the context of the sleep was canceled
	ctx    context.Context // for InNap; also for InRead, if the actor is an adapter's client
	err    error           // for AtEnd: the failure that ended the client; nil: the client returned
}

// isCancelled reports whether the context of a sleep was canceled.
func (p parked) isCancelled() bool { return p.ended || p.ctx != nil && p.ctx.Err() != nil }

// at returns a parked value of a kind that needs no further fields, such as model.InWork.
func at(kind model.StopKind) parked { return parked{Stop: model.Stop{Kind: kind}} }

func (a *actor) launch(ctx context.Context, c harness.Client) {
	ctx = harness.WithTime(ctx, clientClock{a})
	s := harness.NewSession(clientTimeline{a}, a.index+1, len(a.ex.actors)+1, 0,
		rand.New(rand.NewPCG(1, uint64(a.index))))
	go func() {
		named := a.ex.w.takeTurn()
		a.goroutine = goroutineID()
		named()
		defer a.parkAtEnd(fmt.Sprintf("client %d", a.index+1))
		c.Step(ctx, s)
	}()
}

// parkAtEnd tells the scheduler that the actor has ended. The actor's goroutine defers it. If that goroutine panicked,
// the scheduler gets the panic as an error.
func (a *actor) parkAtEnd(name string) {
	end := at(model.AtEnd)
	if p := recover(); p != nil {
		end.err = fmt.Errorf("explore: %s panicked: %v\n%s", name, p, debug.Stack())
	}
	a.park <- end
}

// wait parks the actor until the scheduler lets it go on. It returns false after a crash. The caller holds world.turn.
func (a *actor) wait(p parked) bool {
	if a.isCrashed() {
		return false
	}
	defer a.ex.w.giveTurn()()
	a.park <- p
	return <-a.awake
}

// beginOp records the virtual time at which the current operation began. Later calls for the same operation do nothing.
func (a *actor) beginOp(now time.Duration) {
	if !a.inOp {
		a.inOp, a.callAt = true, now
	}
}

// clientTimeline records a client's operations in virtual time, for the client's goroutine.
type clientTimeline struct{ a *actor }

var _ harness.Timeline = clientTimeline{}

func (t clientTimeline) Now() time.Duration {
	defer t.a.ex.w.takeTurn()()
	t.a.clockReads++
	t.a.betweenOps = false
	t.a.awaitBeginning()
	return t.a.ex.stamp()
}

// Record keeps the operation op with the times of its call (see calledAt) and its return. If a crash interrupted the
// operation, its outcome becomes Info. All other operations of a crashed client are dropped.
func (t clientTimeline) Record(op *harness.Op) {
	a := t.a
	defer a.ex.w.takeTurn()()
	if a.wakeAt > a.ex.now { // the sleep belongs to the operation
		a.wait(at(model.InSleep))
	}
	a.records++
	a.betweenOps = true
	did := model.Act{Op: *op}
	// a client cannot know whether a crash interrupted its operation
	if kept := a.keepOp(op); kept || !a.hasThreads() {
		a.noteAct(did)
	}
	if !a.crashed && a.hasLiveThreads() { // they may act before the client does
		a.wait(at(model.InWork))
	}
}

// keepOp sets the times of a finished operation and keeps it. It returns false if it dropped the operation because the
// client had crashed.
func (a *actor) keepOp(op *harness.Op) bool {
	if a.crashed {
		if !a.cutOffUnrecorded {
			return false
		}
		a.cutOffUnrecorded = false
		op.Outcome, op.Result, op.Err = harness.Info, "", harness.Crashed
	}
	op.Return = a.ex.stamp()
	op.Call = op.Return
	if a.inOp {
		op.Call = a.calledAt(op)
		a.inOp, a.tookEffect, a.slept = false, false, false
	}
	if a.unansweredCommand != nil && (op.Kind == harness.Acquire && op.Outcome == harness.Fail ||
		op.Kind == harness.Claim && op.Result == harness.ResultSeen) {
		a.ex.noteSituation(harness.RefusedByItself)
	}
	a.ex.record(*op, a.commands)
	a.lastOpSentNothing = a.ex.sharesMemory() && a.commands == 0
	a.commands, a.unansweredCommand = 0, nil
	if a.ex.watch != nil { // a watchdog may live only from a grant to the release, without a step in between
		a.ex.watch(a)
	}
	return true
}

// Sleep stands for work between two operations. It takes no virtual time, but the client may crash during it.
func (t clientTimeline) Sleep(d time.Duration) bool {
	defer t.a.ex.w.takeTurn()()
	if d <= 0 || t.a.inOp {
		return !t.a.crashed
	}
	return t.a.wait(at(model.InWork))
}

// clientClock is the clock that a client's algorithm reads.
type clientClock struct{ a *actor }

var _ harness.MillisTime = clientClock{}

// Now returns the time on the client's clock: the servers' time plus the schedule's skew. A reading is a step. It moves
// virtual time on by a microsecond, so no two readings are equal. After a crash Now repeats the client's last reading,
// so that it does not matter when the client crashed.
func (v clientClock) Now() time.Time { return v.read(model.InClock) }

// NowMillis returns the time of Now in whole milliseconds since 1970. A reading is a step, but does not move virtual
// time on.
func (v clientClock) NowMillis() int64 { return v.read(model.InMillis).UnixMilli() }

func (v clientClock) read(how model.StopKind) time.Time {
	defer v.a.ex.w.takeTurn()()
	a := v.a.runningActor()
	if a.wait(at(how)) {
		a.lookedAt = a.lastEvent.At
	} else {
		a.refuse()
	}
	return keyspace.Epoch.Add(a.lookedAt)
}

// Sleep delays the client's next step. Waking up is usually part of that step. It is a step of its own if a lease ends
// during the sleep (see execution.stepClient), or if the client has several threads, since these may share memory.
func (v clientClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	defer v.a.ex.w.takeTurn()()
	a := v.a.runningActor()
	if a.isCrashed() {
		a.refuse()
		return errCrashed
	}
	if a.hasThreads() {
		return a.nap(ctx, d)
	}
	a.sleep(d, a.betweenOps)
	a.noteAct(model.Act{Sleep: d, Rests: a.betweenOps})
	return nil
}
