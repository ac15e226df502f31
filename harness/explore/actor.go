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

// actor is one thread of a client in one schedule: a goroutine that is parked most of the time, or the way of a
// subscription's commands to Redis. Its fields belong to whoever has the world's turn.
type actor struct {
	index   int   // the client, from 0
	thread  int   // 0: the client's first, in which its Step runs
	sends   *conn // the subscription whose commands it brings to Redis; it has no goroutine; nil: it is a goroutine
	ex      *execution
	live    *live                // the same, if it is really run; nil: it is not
	sending atomic.Pointer[conn] // of a program outside: the connection on which its command is under way; nil: none is

	park  chan parked // the client tells the scheduler where it waits, or that it is done
	awake chan bool   // the scheduler lets it go on; false: it has crashed

	parkedAt         parked
	started          bool // has taken a step
	done             bool
	crashed          bool
	astray           bool            // has not parked in time: there is no way to end it
	cutOffUnrecorded bool            // the operation that a crash cut off is still to be recorded
	inOp             bool            // the operation at hand has begun: it has sent something or looked at the clock
	callAt           time.Duration   // virtual time at which the operation at hand began
	acted            bool            // the operation at hand has taken effect: see takesEffect
	actedAt          time.Duration   // virtual time at which it first did
	slept            bool            // it has slept, so its client knows how much time has passed
	between          bool            // its last operation has ended, and none has begun since
	rests            bool            // it sleeps between two operations: the next one begins when it wakes up
	commands         int             // number of commands that the operation at hand has sent
	free             bool            // the last operation sent no command, in a process of several clients
	lost             []byte          // the command of the operation at hand that was executed without an answer; nil: none
	goroutine        int             // the id of its goroutine
	refused          int             // how often it has asked for something since its client crashed
	mind             *model.Mind     // all that it has read, if the schedule is kept or run from memory
	heard            model.Event     // what it has read or noticed since
	acts             []model.Act     // what it has done since
	watched          []model.Watched // keys that it watches
	clockReads       int             // looks at the time of the schedule
	records          int             // operations that it has ended
	lookedAt         time.Duration   // what its clock showed when it last looked; 0: it has not
	listens          *conn           // of a program outside: by which it has subscribed last; nil: none
	expects          bool            // of a program outside: it has announced a SUBSCRIBE that has not come
	// virtual time until which it sleeps or waits; in the past: it does not sleep; 0 if it waits: for ever
	wakeAt time.Duration
}

// parked is the place at which a client waits for the scheduler.
type parked struct {
	model.Stop
	conn   *conn           // for InCommand and InRead; nil in a schedule from memory
	thread *actor          // for InJoin
	ended  bool            // for InNap in a schedule from memory: its context has ended
	ctx    context.Context // for InNap, and for InRead of a program outside
	err    error           // for AtEnd: why the client ended other than by itself
}

// isCancelled reports whether the context of a sleep has ended.
func (p parked) isCancelled() bool { return p.ended || p.ctx != nil && p.ctx.Err() != nil }

// at returns the place of a client that stops for a reason that needs nothing else.
func at(kind model.StopKind) parked { return parked{Stop: model.Stop{Kind: kind}} }

// name notes the id of the goroutine that calls.
func (a *actor) name() {
	defer a.ex.w.takeTurn()()
	a.goroutine = goroutineID()
}

// launch starts the client's goroutine.
func (a *actor) launch(ctx context.Context, c harness.Client) {
	ctx = harness.WithTime(ctx, clientClock{a})
	s := harness.NewSession(clientTimeline{a}, a.index+1, len(a.ex.actors)+1, 0,
		rand.New(rand.NewPCG(1, uint64(a.index))))
	go func() {
		a.name()
		end := at(model.AtEnd)
		defer func() {
			p := recover()
			if end.err = brokenOutside(a.index, p); end.err == nil && p != nil {
				end.err = fmt.Errorf("explore: client %d panicked: %v\n%s", a.index+1, p, debug.Stack())
			}
			a.park <- end
		}()
		c.Step(ctx, s)
	}()
}

// wait parks the client, whose turn it is, and reports whether it goes on.
func (a *actor) wait(p parked) bool {
	if a.isCrashed() {
		return false
	}
	defer a.ex.w.giveTurn()()
	a.park <- p
	return <-a.awake
}

// beginOp notes at the operation's first command or look at a clock that it began at the given time. Later calls do
// nothing.
func (a *actor) beginOp(at time.Duration) {
	if !a.inOp {
		a.inOp, a.callAt = true, at
	}
}

// clientTimeline records a client's operations in virtual time. The client's goroutine uses it.
type clientTimeline struct{ a *actor }

var _ harness.Timeline = clientTimeline{}

func (t clientTimeline) Now() time.Duration {
	defer t.a.ex.w.takeTurn()()
	t.a.clockReads++
	t.a.between = false
	t.a.awaitBeginning()
	return t.a.ex.stamp()
}

// Record stamps op and keeps it. calledAt says from when it counts as called. An operation that a crash cut off ends
// with Info, and none is kept after it.
func (t clientTimeline) Record(op *harness.Op) {
	a := t.a
	defer a.ex.w.takeTurn()()
	if a.wakeAt > a.ex.now { // its end comes after the sleep
		a.wait(at(model.InSleep))
	}
	a.records++
	a.between = true
	did := model.Act{Op: *op}
	// whether a crash cut it off is not for the mind of a client to know
	if kept := a.keep(op); kept || !a.hasThreads() {
		a.noteAct(did)
	}
	if !a.crashed && a.hasLiveThreads() { // they may act before the client does anything else
		a.wait(at(model.InWork))
	}
}

// keep stamps an operation that has ended, and keeps it. It returns false if the client has crashed and nothing of it
// is kept any more.
func (a *actor) keep(op *harness.Op) bool {
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
		a.inOp, a.acted, a.slept = false, false, false
	}
	if a.lost != nil && (op.Kind == harness.Acquire && op.Outcome == harness.Fail ||
		op.Kind == harness.Claim && op.Result == harness.ResultSeen) {
		a.ex.noteSituation(harness.RefusedByItself)
	}
	a.ex.record(*op, a.commands)
	a.free = a.ex.sharesMemory() && a.commands == 0
	a.commands, a.lost = 0, nil
	if a.ex.recorded != nil {
		a.ex.recorded(a)
	}
	return true
}

// Sleep stands for work between two operations. It takes no virtual time, but the client may crash in it.
func (t clientTimeline) Sleep(d time.Duration) bool {
	defer t.a.ex.w.takeTurn()()
	if d <= 0 || t.a.inOp {
		return !t.a.crashed
	}
	return t.a.wait(at(model.InWork))
}

// clientClock is the clock of a client's algorithm.
type clientClock struct{ a *actor }

var _ harness.MillisTime = clientClock{}

// Now returns the time that the client's clock shows. It is a step of its own: time may have passed since the client
// last did anything. A client's clock shows the servers' time plus the schedule's skew. It goes on by a microsecond
// with each look that any client takes, so no two looks show the same time. The commands of others do not move it. For
// a client that has crashed it stands still: what such a client does must not depend on when it crashed.
func (v clientClock) Now() time.Time { return v.look(model.InClock) }

// NowMillis is a step of its own as well. It does not make the clock go on.
func (v clientClock) NowMillis() int64 { return v.look(model.InMillis).UnixMilli() }

func (v clientClock) look(how model.StopKind) time.Time {
	defer v.a.ex.w.takeTurn()()
	a := v.a.running()
	if a.wait(at(how)) {
		a.lookedAt = a.heard.At
	} else {
		a.refuse()
	}
	return keyspace.Epoch.Add(a.lookedAt)
}

// Sleep makes the client's next step come later. It is not a step itself: whatever others do meanwhile they may as well
// do before the client's next step. Where some lease ends meanwhile, waking up is a step of its own (see
// execution.stepClient). It always is one where the client has other threads, since they may share memory with it.
func (v clientClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	defer v.a.ex.w.takeTurn()()
	a := v.a.running()
	if a.isCrashed() {
		a.refuse()
		return errCrashed
	}
	if a.hasThreads() {
		return a.nap(ctx, d)
	}
	a.sleep(d, a.between)
	a.noteAct(model.Act{Sleep: d, Rests: a.between})
	return nil
}
