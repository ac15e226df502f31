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
			ex.spec.Program.Observe(ctx, ex.session(), ex.w.probe, op)
		}
	}
}

// finish lets the program ask its last questions, when every client is done.
func (ex *execution) finish(ctx context.Context) error {
	if ex.spec.Program.Finally == nil {
		return nil
	}
	ex.now = ex.now.Truncate(tick) + tick
	ops := len(ex.ops)
	err := ex.spec.Program.Finally(ctx, ex.session(), ex.w.probe, &After{ex})
	for _, op := range ex.ops[ops:] {
		ex.times = append(ex.times, op.Return)
		ex.trace.probed(op)
	}
	return err
}

// session is the harness's own.
func (ex *execution) session() *harness.Session {
	return harness.NewSession(outside{ex}, harness.HarnessClient, len(ex.actors)+1, 0, rand.New(rand.NewPCG(1, 1)))
}

// asked stands for the commands of the harness's own operations, which nobody counts.
const asked = 1

// outside is where the harness's own operations happen.
type outside struct{ ex *execution }

func (o outside) Now() time.Duration       { return o.ex.now }
func (o outside) Sleep(time.Duration) bool { return true }
func (o outside) Record(op *harness.Op) {
	o.ex.now += tick / 8
	op.Return = o.ex.now
	o.ex.record(*op, asked)
	o.ex.now += tick / 8
}
