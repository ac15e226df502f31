package explore

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file takes the steps of a schedule.

// step carries out a choice and returns the move that was made.
func (ex *execution) step(ctx context.Context, c interleave.Choice) (did schedule.Move, err error) {
	if len(ex.path) == schedule.MaxSteps {
		return did, schedule.Stopped("a schedule of %d steps does not end: the last command was %s: check that no "+
			"client retries for ever", schedule.MaxSteps, ex.describeNext())
	}
	ex.fingerprint = ex.backend.fingerprintAfter(c)
	ex.path = append(ex.path, c)
	at := ex.nextStep()
	ex.stepTimes = append(ex.stepTimes, at)
	ex.trace.StartStep(at, c)
	ops := len(ex.ops)
	i, isClient := c.Client()
	switch {
	case !isClient:
		did, err = ex.stepWorld(ctx, c)
	case c.IsCrash():
		did, err = ex.crash(c, ex.actors[i])
	default:
		if a := ex.actorOf(c); a != nil {
			did, err = ex.stepClient(c, a)
		} else {
			err = fmt.Errorf("%w: there is nobody for %v", schedule.ErrNotRepeated, c)
		}
	}
	if err == nil {
		err = ex.backend.endStep()
	}
	if err != nil {
		return did, err // a client may still be running, so what it records is not judged
	}
	ex.justStepped = isClient && !c.IsCrash()
	ended := ex.ops[ops:]
	if err := ex.backend.noteLeases(c, ended); err != nil {
		return did, err
	}
	if err := ex.observe(ctx, ended); err != nil {
		return did, err
	}
	ex.trace.FinishStep(ended, ex.ops[ops+len(ended):])
	if ex.trace != nil && ex.trace.Stores {
		ex.trace.Current().Store, err = ex.w.Content(ex.now, ex.roundingUnit())
	}
	return did, err
}

// fingerprintAfter returns the fingerprint after a choice. If clients are deterministic, equal choices lead to equal
// fingerprints. Only the keys among a command's arguments count, since tokens may be random.
func (ex *live) fingerprintAfter(c interleave.Choice) uint64 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, ex.fingerprint) // never fails
	_, _ = h.Write([]byte{byte(c), byte(c >> 8)})
	if a := ex.actorOf(c); a != nil {
		_, _ = h.Write([]byte{byte(a.parkedAt.Kind)})
		if a.parkedAt.Kind == model.InCommand && a.subscriptionConn == nil && !a.done {
			next := a.parkedAt.Pending.Next()
			_, _ = h.Write(next.Args[0])
			for _, key := range slices.Concat(next.Reads, next.Writes) {
				_, _ = h.Write([]byte(key))
			}
		}
	}
	return h.Sum64()
}

// stepClient lets a client take its next step, perhaps with a lost or late command or a lost answer. A sleeping client
// wakes first. If a lease ends during its sleep, waking is the whole step.
func (ex *execution) stepClient(c interleave.Choice, a *actor) (did schedule.Move, err error) {
	if a.done || a.parkedAt.Kind == model.InMemory || a.subscriptionConn != nil && len(a.subscriptionConn.Queue) == 0 {
		return did, schedule.Diverged(a)
	}
	did = ex.nextMove(c, a)
	ops := len(ex.ops)
	a.started = true
	ex.last = a
	if a.waits() {
		ex.hasWaited = true
		did.Ends, err = ex.backend.endWait(c, a)
		return did, err
	}
	slept, err := ex.wake(a)
	if slept || err != nil {
		did.Access, did.Ends = command.Access{}, false
		return did, err
	}
	event := model.Event{Kind: model.Awake}
	switch a.parkedAt.Kind {
	case model.InCommand:
		at, next := ex.stamp(), a.parkedAt.Pending.Next()
		took := a.takesEffect()
		a.beginOp(at)
		ex.countCommand(a)
		ex.backend.noteOutcome(a.parkedAt.Pending)
		if isExecuted(c) {
			ex.readServerClock(next, a.parkedAt.Pending)
		}
		var blocks bool
		if event, blocks, err = ex.deliver(c, a); err != nil {
			return did, err
		}
		ex.order++
		if took(event.Text) {
			a.noteEffect(at)
		}
		if blocks {
			did.Ends = false
			return did, nil
		}
	case model.InWork:
		if ex.sharesMemory() { // other clients of its process may notice what it does then
			ex.trace.WentOn("begins its next operation")
		}
	case model.InClock, model.InMillis:
		at := ex.stamp()
		a.beginOp(at)
		a.noteEffect(at)
		event = model.Event{Kind: model.ClockRead, At: ex.readClientClock(a)}
		ex.trace.ClockRead(event.At)
	}
	if err := ex.backend.notify(a, event); err != nil {
		return did, err
	}
	did.Ends = len(ex.ops) > ops
	return did, nil
}

// wake lets time pass until the client's sleep is over, if the client sleeps. It reports whether waking up is a step of
// its own. This is so if a lease ended meanwhile, since others may then act before the client goes on.
func (ex *execution) wake(a *actor) (slept bool, err error) {
	if a.wakeAt <= ex.now {
		return false, nil
	}
	slept, err = ex.leaseEndsBefore(a.wakeAt)
	if err != nil {
		return false, err
	}
	if !a.sleepsBetweenOps {
		a.beginOp(ex.stamp())
	}
	a.sleepsBetweenOps = false
	ex.trace.Waited(a.wakeAt - ex.now)
	return slept && a.parkedAt.Kind != model.InSleep, ex.passTo(a.wakeAt)
}

// crash ends a client before its next step. The outcome of the interrupted operation stays unknown.
func (ex *execution) crash(c interleave.Choice, a *actor) (schedule.Move, error) {
	if !ex.isAlive(a.index) {
		return schedule.Move{}, schedule.Diverged(a)
	}
	ex.remaining.Crashes--
	ex.noteSituation(harness.ClientCrashed)
	did := schedule.Move{Choice: c, Memory: ex.memoryOf(a.index), Access: ex.backend.waitAccess(a.index)}
	ex.trace.Crashed(ex.members(a.index), a.index)
	return did, ex.endClient(a.index)
}

// stepWorld carries out a choice that does not belong to a client.
func (ex *execution) stepWorld(ctx context.Context, c interleave.Choice) (schedule.Move, error) {
	did := schedule.Move{Choice: c, World: true}
	switch {
	case c.IsTime():
		ends, err := ex.passToInstant(c)
		did.Approaches = !ends
		return did, err
	case c.Kind() == interleave.Arrives:
		return ex.arrive(c.Number())
	case c == interleave.StopReplication:
		ex.remaining.Failovers--
		ex.replicationStopped, ex.lostFrom = true, ex.stamp()
		return did, ex.backend.change(c)
	case c == interleave.Promote:
		ex.replicationStopped = false
		for i := range ex.lateCommands { // it was sent to the old primary
			ex.lateCommands[i].arrived = true
		}
		ex.noteSituation(harness.ReplicaPromoted)
		ex.promoted = true
		return did, ex.backend.change(c)
	case c == interleave.FlushScripts:
		ex.remaining.Flushes--
		return did, ex.backend.change(c)
	}
	return did, fmt.Errorf("explore: unknown choice %v", c)
}
