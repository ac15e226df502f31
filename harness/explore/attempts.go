package explore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

const (
	maxAttempts = 20 // runs of one schedule, if something disturbs it or the machine is slow
	slowness    = 10 // with clocks that cannot be set, a schedule that takes longer than the lease/slowness is run again
)

// errDisturbed marks a schedule that something disturbed each time.
var errDisturbed = fmt.Errorf("explore: a schedule was disturbed %d times in a row", maxAttempts)

// attempts runs one schedule until nothing disturbs it that is no part of it.
type attempts struct {
	spec   *Spec
	budget interleave.Budget
	w      *world
	alarm  *time.Timer
}

// run calls once until it runs a schedule undisturbed, and returns its error. The error wraps errDisturbed if that never happens.
func (a attempts) run(ctx context.Context, once func() (*execution, error)) error {
	why := ""
	for number := range maxAttempts {
		began := time.Now()
		ex, err := once()
		switch {
		case ex == nil || err != nil && !(ex.disturbed() && (errors.Is(err, ErrDiverged) || errors.Is(err, errDiverged))):
			return err
		case ex.missesScript:
			why = "a script that Redis had lost was not sent again by any client"
			if err := a.learnScripts(ctx, number, len(ex.path)); err != nil {
				return err
			}
		case ex.waitCutShort:
			why = "WAIT returned before its replicas had acknowledged: this machine is too busy"
		case !a.w.SetsClocks() && time.Since(began) > a.spec.Program.Lease/slowness:
			why = "it took more than a tenth of the lease: this machine is too busy, or a client waits by itself (time.Sleep) where harness.Sleep would do"
		default:
			return nil
		}
	}
	return fmt.Errorf("%w: %s", errDisturbed, why)
}

// learnScripts runs a schedule that is drawn at random, another one each time, so that clients load the scripts that they miss. In the
// schedule of the attempt something may keep them from that: a crash, or a release that stops the watchdog of a lock.
func (a attempts) learnScripts(ctx context.Context, number, steps int) error {
	t := walker{spec: a.spec, budget: a.budget, w: a.w, alarm: a.alarm}
	_, err := t.run(ctx, drawPCT(rand.New(rand.NewPCG(1, uint64(number))), defaultDepth, steps, a.budget, false))
	if errors.Is(err, errStopped) { // its end is of no interest
		return nil
	}
	return err
}

// disturbed reports whether something that is no part of the schedule came between.
func (ex *execution) disturbed() bool { return ex.missesScript || ex.waitCutShort }
