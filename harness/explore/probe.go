package explore

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// observe lets the program look at what the operations that have just ended left in the store.
func (ex *execution) observe(ctx context.Context, ended []harness.Op) {
	if ex.spec.Program.Observe == nil {
		return
	}
	for _, op := range ended {
		if op.Outcome == harness.OK {
			ex.now += tick / 8 // after the operation, for certain
			ex.ask(ctx, func(ctx context.Context) { ex.spec.Program.Observe(ctx, ex.session(), ex.w.probe, op) })
		}
	}
}

// ask calls f, which asks something for the program, in the schedule's time. Meanwhile the turn is free: f may use the
// connection of a client that is done.
func (ex *execution) ask(ctx context.Context, f func(context.Context)) {
	ex.w.asking = true
	defer func() { ex.w.asking = false }()
	defer ex.w.giveTurn()()
	f(harness.WithTime(ctx, outside{ex}.clock()))
}

// finish calls Program.Finally when every client is done.
func (ex *execution) finish(ctx context.Context) error {
	if ex.spec.Program.Finally == nil {
		return nil
	}
	ex.now = ex.now.Truncate(tick) + tick
	ops := len(ex.ops)
	var err error
	ex.ask(ctx, func(ctx context.Context) {
		err = ex.spec.Program.Finally(ctx, ex.session(), ex.w.probe, after{ex})
	})
	for _, op := range ex.ops[ops:] {
		ex.times = append(ex.times, op.Return)
		ex.trace.probed(op)
	}
	return err
}

// session returns the session of the harness's own operations.
func (ex *execution) session() *harness.Session {
	return harness.NewSession(outside{ex}, harness.HarnessClient, len(ex.actors)+1, 0, rand.New(rand.NewPCG(1, 1)))
}

// asked stands for the number of commands of a harness's own operation, which are not counted.
const asked = 1

// outside is the timeline of the harness's own operations.
type outside struct{ ex *execution }

func (o outside) Now() time.Duration {
	defer o.ex.w.takeTurn()()
	return o.ex.now
}

func (o outside) Sleep(time.Duration) bool { return true }

func (o outside) Record(op *harness.Op) {
	defer o.ex.w.takeTurn()()
	o.ex.now += tick / 8
	op.Return = o.ex.now
	o.ex.record(*op, asked)
	o.ex.now += tick / 8
}

// clock returns the clock of the harness's own operations, which shows the servers' time.
func (o outside) clock() harness.ClientTime { return outsideClock(o) }

type outsideClock struct{ ex *execution }

// Now returns the servers' time of day.
func (c outsideClock) Now() time.Time { return epoch.Add(outside(c).Now()) }

// Sleep lets time pass.
func (c outsideClock) Sleep(ctx context.Context, d time.Duration) error {
	defer c.ex.w.takeTurn()()
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	return c.ex.passTo(c.ex.now + d)
}
