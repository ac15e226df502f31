package explore

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file starts and ends a client's threads: goroutines that it starts by harness.Go, and subscriptions. Each is an
// actor. They end with their client, or with the schedule.

var (
	_ harness.Starter   = clientClock{}
	_ harness.Abandoner = clientClock{}
)

// Go starts a goroutine of the client. The new goroutine begins when the calling one has come to its next command,
// sleep or clock reading. Then the new goroutine runs until its own first command, sleep or clock reading.
func (v clientClock) Go(ctx context.Context, f func(context.Context)) (wait func()) {
	t := v.start()
	if t == nil { // the client has crashed
		return func() {}
	}
	go t.run(harness.WithTime(ctx, clientClock{t}), f)
	return t.join
}

// HasGoroutines reports whether a goroutine of the client has not ended.
func (v clientClock) HasGoroutines() bool {
	defer v.a.ex.w.takeTurn()()
	return v.a.hasLiveThreads()
}

// Abandon ends the search with an error, and ends the calling goroutine.
func (v clientClock) Abandon(why error) {
	end := v.a.ex.w.takeTurn()
	client := v.a.runningActor()
	client.live.failure = cmp.Or(client.live.failure, schedule.Stopped("client %d: %v", client.index+1, why))
	end()
	runtime.Goexit()
}

// start makes the actor of a new goroutine; nil: the client has crashed. If the client has too many threads, start ends
// the calling goroutine.
func (v clientClock) start() *actor {
	defer v.a.ex.w.takeTurn()()
	a := v.a.runningActor()
	if a.isCrashed() {
		return nil
	}
	if a.wakeAt > a.ex.now && !a.wait(at(model.InSleep)) { // the new goroutine begins after the sleep
		return nil
	}
	if len(a.ex.threadsOf(a.index)) == interleave.MaxThreads {
		a.live.failure = tooManyThreads(a.index)
		runtime.Goexit()
	}
	t := a.live.addThread(a.index)
	t.parkedAt = at(model.InStart)
	return t
}

func tooManyThreads(client int) error {
	return schedule.Stopped("client %d has started %d goroutines and subscriptions in one schedule, the most that "+
		"are explored: check that it does not start them without end",
		client+1, interleave.MaxThreads-1)
}

// startThreads runs new threads to their first step.
func (ex *execution) startThreads() error {
	for _, t := range slices.Clone(ex.all) {
		if t.parkedAt.Kind == model.InStart && !t.isCrashed() {
			if err := ex.backend.notify(t, model.Event{Kind: model.Awake}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (ex *live) addThread(client int) *actor {
	t := &actor{index: client, thread: len(ex.threadsOf(client)), ex: ex.execution, live: ex, started: true,
		park: make(chan parked, 4), awake: make(chan bool)}
	ex.all = append(ex.all, t)
	return t
}

// threadsOf lists a client's actors, including its first.
func (ex *execution) threadsOf(client int) (out []*actor) {
	for _, a := range ex.all {
		if a.index == client {
			out = append(out, a)
		}
	}
	return out
}

// hasThreads reports whether the actor's client has, or had, more than one thread, or shares memory with other clients.
func (a *actor) hasThreads() bool {
	return a.ex.sharesMemory() || a.ex.hasThreads() && len(a.ex.threadsOf(a.index)) > 1
}

// hasThreads reports whether some client has, or had, more than one thread.
func (ex *execution) hasThreads() bool { return len(ex.all) > len(ex.actors) }

// hasLiveThreads reports whether the actor's client has goroutines of harness.Go that have not ended.
func (a *actor) hasLiveThreads() bool {
	return slices.ContainsFunc(a.ex.threadsOf(a.index), func(t *actor) bool {
		return t.thread > 0 && t.subscriptionConn == nil && !t.done
	})
}

// runningActor returns the actor of this process that runs now; the receiver if none does.
func (a *actor) runningActor() *actor {
	if a.hasWaiters() { // one that has waited may run as well
		if b := a.callingActor(); b != nil {
			return b
		}
	}
	if r := a.live.running; r != nil && a.ex.process(r.index) == a.ex.process(a.index) {
		return r
	}
	return a
}

func (a *actor) isCrashed() bool { return a.ex.actors[a.index].crashed }

func (t *actor) run(ctx context.Context, f func(context.Context)) {
	defer t.parkAtEnd(fmt.Sprintf("thread %d of client %d", t.thread+1, t.index+1))
	if <-t.awake {
		t.goroutine = goroutineID()
		f(ctx)
	}
}

// join waits until the thread has ended.
func (t *actor) join() {
	defer t.ex.w.takeTurn()()
	a := t.live.running
	if t.done || a == nil || a.ex.process(a.index) != a.ex.process(t.index) || a.isCrashed() {
		return
	}
	a.wait(parked{Stop: model.Stop{Kind: model.InJoin}, thread: t})
}

func (a *actor) String() string {
	if a.thread == 0 {
		return fmt.Sprintf("client %d", a.index+1)
	}
	return fmt.Sprintf("client %d's thread %d", a.index+1, a.thread+1)
}

// actorOf returns the actor that a choice applies to; nil: none.
func (ex *execution) actorOf(c interleave.Choice) *actor {
	i, ok := c.Client()
	if !ok || i >= len(ex.actors) {
		return nil
	}
	if c.Thread() == 0 {
		return ex.actors[i]
	}
	for _, a := range ex.all {
		if a.index == i && a.thread == c.Thread() {
			return a
		}
	}
	return nil
}

// endWait ends an actor's wait; the actor then runs to its next step. The result endedOp is true if an operation ended.
func (ex *live) endWait(c interleave.Choice, a *actor) (endedOp bool, err error) {
	ops := len(ex.ops)
	runs, err := ex.resume(c, a)
	if err == nil && runs {
		err = ex.awaitClient(a)
	}
	return len(ex.ops) > ops, err
}

// countCommand counts a command for the actor's current operation. If the client's first thread waits for the actor to
// end, the command also counts for the operation of the first thread.
func (ex *execution) countCommand(a *actor) {
	first := ex.actors[a.index]
	if a != first && first.parkedAt.Kind == model.InJoin && !first.done {
		first.beginOp(ex.stamp())
		first.commands++
	}
	a.beginOp(ex.stamp())
	a.commands++
}

// isAlive reports whether a goroutine of the client's process has not ended.
func (ex *execution) isAlive(client int) bool {
	return slices.ContainsFunc(ex.inProcess(client), func(a *actor) bool {
		return !a.done && a.subscriptionConn == nil
	})
}

// mostRefusals bounds how often a crashed client may still read the time or sleep. After that its goroutine is ended.
const mostRefusals = 100

// refuse counts an attempt by a crashed client to go on, and ends a goroutine that never stops trying.
func (a *actor) refuse() {
	if a.refusals++; a.refusals > mostRefusals {
		runtime.Goexit()
	}
}

// endClient crashes a client with its process. What clients of this process send or record afterwards does not count.
func (ex *execution) endClient(client int) (err error) {
	members := ex.members(client)
	for _, i := range members {
		if main := ex.actors[i]; main != nil {
			main.crashed = true
			main.cutOffUnrecorded = main.inOp && main.parkedAt.Kind != model.InWork
		}
	}
	for _, i := range members {
		if ex.actors[i] != nil {
			err = cmp.Or(err, ex.backend.crash(i))
		}
	}
	if ex.backend.hasRealClients() {
		err = cmp.Or(err, ex.actors[client].live.awaitMates(client))
	}
	for _, a := range ex.inProcess(client) { // those that still wait in memory: nothing can wake them
		if a.parkedAt.Kind == model.InMemory && !a.done {
			a.done, a.neverParked = true, true
		}
	}
	return err
}

// abandonDisturbed ends the clients of a schedule that a standstill disturbed. It crashes each client twice: a library
// that had stopped waiting for a reply may answer the first crash with another command. Errors do not matter.
func (w *world) abandonDisturbed() {
	if ex := w.current; ex != nil {
		_ = w.closeSubscriptions()
		ex.abandon()
		ex.abandon()
		ex.failure = nil
	}
}

// endThreads ends what remains of the last schedule's clients: waits, threads and subscriptions.
func (w *world) endThreads() error {
	ex := w.current
	if err := w.closeSubscriptions(); err != nil || ex == nil {
		return err
	}
	w.current = nil
	for i, a := range ex.actors {
		if a == nil || !slices.ContainsFunc(ex.threadsOf(i), func(a *actor) bool { return !a.done && !a.neverParked }) {
			continue
		}
		if err := ex.endClient(i); err != nil {
			return err
		}
	}
	return nil
}
