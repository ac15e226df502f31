package explore

import (
	"cmp"
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
)

// observe calls Program.Observe for each operation that has succeeded.
func (ex *execution) observe(ctx context.Context, ended []harness.Op) error {
	if ex.spec.Program.Observe == nil {
		return nil
	}
	for _, op := range ended {
		if op.Outcome == harness.OK {
			ex.order++ // certainly after the operation
			began := model.Event{Kind: model.Observes, Promoted: ex.promoted, Text: canonicalOps([]harness.Op{op})}
			err := ex.backend.probe(ctx, began, func(ctx context.Context, ex *live) {
				ex.spec.Program.Observe(ctx, ex.session(), ex.w.probe, op)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// finish calls Program.Finally when every client is done.
func (ex *execution) finish(ctx context.Context) error {
	if err := ex.findDeadlock(); err != nil || ex.spec.Program.Finally == nil {
		return err
	}
	ex.finishing = true
	ex.nextStep()
	ops := len(ex.ops)
	var said error
	err := ex.backend.probe(ctx, model.Event{Kind: model.Finishes, Promoted: ex.promoted},
		func(ctx context.Context, ex *live) {
			said = ex.spec.Program.Finally(ctx, ex.session(), ex.w.probe, after{ex})
		})
	for _, op := range ex.ops[ops:] {
		ex.stepTimes = append(ex.stepTimes, op.Return)
		ex.trace.Probed(op)
	}
	return cmp.Or(err, said)
}

// session returns the session of the harness's own operations.
func (ex *live) session() *harness.Session {
	return harness.NewSession(harnessTimeline{ex}, harness.HarnessClient, len(ex.actors)+1, 0,
		rand.New(rand.NewPCG(1, 1)))
}

// harnessTimeline is the timeline of the harness's own operations.
type harnessTimeline struct{ ex *live }

func (o harnessTimeline) Now() time.Duration {
	defer o.ex.w.takeTurn()()
	return o.ex.stamp()
}

func (o harnessTimeline) Sleep(time.Duration) bool { return true }

func (o harnessTimeline) Record(op *harness.Op) {
	defer o.ex.w.takeTurn()()
	if l := o.ex.observation; l != nil {
		done := model.Act{Op: *op, Took: o.ex.stamp() - op.Call}
		done.Op.Call, done.Op.Return = 0, 0
		l.acts = append(l.acts, done)
	}
	o.ex.recordOwn(op)
}

// recordOwn sets the times of an operation of the harness itself, and keeps it.
func (ex *execution) recordOwn(op *harness.Op) {
	ex.order++
	op.Return = ex.stamp()
	ex.record(*op, 1) // how many commands it sent is not counted
	ex.order++
}

type harnessClock struct{ ex *live }

var _ harness.Starter = harnessClock{}

// Go does nothing: in Observe and Finally, a goroutine that renews a lease would only disturb the schedule.
func (harnessClock) Go(context.Context, func(context.Context)) (wait func()) { return func() {} }

// HasGoroutines returns false.
func (harnessClock) HasGoroutines() bool { return false }

func (c harnessClock) Now() time.Time {
	defer c.ex.w.takeTurn()()
	now := c.ex.now
	c.ex.observationAsks(model.Ask{Kind: model.AsksClock})
	c.ex.observationReads(model.Event{Kind: model.ClockRead, At: now})
	return keyspace.Epoch.Add(now)
}

func (c harnessClock) Sleep(ctx context.Context, d time.Duration) error {
	defer c.ex.w.takeTurn()()
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	c.ex.observationAsks(model.Ask{Kind: model.AsksPass, For: d})
	c.ex.observationReads(model.Event{Kind: model.Passed})
	return c.ex.passTo(c.ex.now + d)
}

// ownerRefused reports whether the lock refused its last owner, which should still hold it. The result is false after a
// promotion, since the lock may be lost. It is false with subscriptions or threads, since another client may wait for a
// message instead of asking for the lock.
func (ex *execution) ownerRefused() bool {
	return !ex.promoted && !ex.Subscribed && !ex.AskedForMessage && !ex.hasThreads() && ownerRefused(ex.ops, ex.stamp())
}

// ownerRefused reports whether the last owner was refused a release or an extend during its lease, and the lease is not
// over at a given time. It does not say whether the owner still has the lock: the next acquire shows that.
func ownerRefused(ops []harness.Op, now time.Duration) bool {
	type owner struct {
		client     int
		key, token string
	}
	until := map[owner]time.Duration{}
	var refused owner
	for _, op := range ops {
		who := owner{op.Client, op.Key, op.Arg}
		switch {
		case op.Outcome == harness.OK && op.Kind == harness.Acquire:
			until[who], refused = op.HeldUntil(0), owner{}
		case op.Outcome == harness.OK && op.Kind == harness.Extend:
			until[who] = op.HeldUntil(0)
		case op.Outcome == harness.Fail &&
			(op.Kind == harness.Release || op.Kind == harness.Extend) && until[who] > op.Return:
			refused = who
		}
		if op.Kind == harness.Release && who != refused {
			delete(until, who)
		}
	}
	return until[refused] > now
}

// after implements interleave.After.
type after struct{ ex *live }

func (a after) Ops() []harness.Op {
	defer a.ex.w.takeTurn()()
	a.ex.observationAsks(model.Ask{Kind: model.AsksOps})
	a.ex.observationReads(model.Event{Kind: model.Finishes, Text: canonicalOps(a.ex.ops)})
	return a.ex.ops
}

func (a after) OwnerRefused() bool {
	defer a.ex.w.takeTurn()()
	refused := a.ex.ownerRefused()
	a.ex.observationAsks(model.Ask{Kind: model.AsksOwnerRefused})
	a.ex.observationReads(model.Event{Kind: model.Finishes, Text: strconv.FormatBool(refused)})
	return refused
}

func (a after) Pass(d time.Duration) error {
	return a.pass(model.AsksPass, d)
}

func (a after) pass(kind model.AskKind, d time.Duration) error {
	defer a.ex.w.takeTurn()()
	a.ex.observationAsks(model.Ask{Kind: kind, For: d})
	a.ex.observationReads(model.Event{Kind: model.Passed})
	return a.ex.passBeside(a.ex.now+d, func() bool { return false })
}

func (a after) PassAll(d time.Duration) (left int, err error) {
	if err := a.pass(model.AsksPassAll, d); err != nil {
		return 0, err
	}
	defer a.ex.w.takeTurn()()
	left, err = a.ex.w.CountKeys()
	a.ex.observationReads(model.Event{Kind: model.Passed, Text: strconv.Itoa(left)})
	return left, err
}
