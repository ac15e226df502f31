package explore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/explore/internal/trace"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file runs schedules: a strategy chooses each move, and the execution makes it happen.

const (
	maxAttempts = 20 // runs of one schedule, if something disturbs it or the machine is slow
	// with clocks that cannot be set, a schedule that takes longer than the lease/slowness is run again
	slowness = 10
)

// errDisturbed marks a schedule that something disturbed each time.
var errDisturbed = fmt.Errorf("explore: a schedule was disturbed %d times in a row", maxAttempts)

// drive runs a schedule that has begun to the end that its strategy chooses, and says how it ended. v is what the
// strategy sees of it.
func (ex *execution) drive(ctx context.Context, s strategy.Strategy, v strategy.View) (ended strategy.Do, err error) {
	for {
		c, do, err := s.Next(v)
		switch {
		case do == strategy.Leave:
			return do, errors.Join(err, ex.leave(ctx))
		case err != nil:
			ex.abandon()
			return do, err
		case do == strategy.Finish:
			return do, ex.finish(ctx)
		case do == strategy.Stop:
			return do, nil
		}
		did, err := ex.step(ctx, c)
		if err != nil {
			ex.abandon()
			return do, err
		}
		s.Took(did)
	}
}

// leave runs a schedule to some end that is not judged, so that its clients stay connected.
func (ex *execution) leave(ctx context.Context) error {
	if !ex.backend.lasts() {
		return nil
	}
	_, err := ex.drive(ctx, &strategy.First{}, ex)
	return err
}

var _ strategy.View = (*execution)(nil)

// Path returns the choices so far.
func (ex *execution) Path() []interleave.Choice { return ex.path }

// Moves lists what can happen next.
func (ex *execution) Moves() ([]schedule.Move, error) { return ex.moves() }

// Instants lists to which instants time can pass.
func (ex *execution) Instants() ([]schedule.Instant, error) { return ex.instantsNow() }

// Fingerprint returns the fingerprint of what happened. Memory has none.
func (ex *execution) Fingerprint() uint64 { return ex.fingerprint }

// FingerprintAfter returns the fingerprint after a choice.
func (ex *execution) FingerprintAfter(c interleave.Choice) uint64 {
	return ex.backend.fingerprintAfter(c)
}

// Visited reports false: only a search of every schedule keeps states, and looks by a view of its own.
func (ex *execution) Visited([]*schedule.Move) (bool, error) { return false, nil }

// Unpromoted reports whether replication has stopped and no replica was promoted.
func (ex *execution) Unpromoted() bool { return ex.replicationStopped }

// Disturbed reports whether something that is no part of the schedule came between.
func (ex *execution) Disturbed() bool { return ex.missesScript || ex.waitCutShort }

// runner runs schedules in one world.
type runner struct {
	spec   *Spec
	w      *world
	alarm  *time.Timer
	traced bool // steps are written down
	stores bool // with what is stored after each
}

func newRunner(spec *Spec, w *world) runner {
	return runner{spec: spec, w: w, alarm: time.NewTimer(parkWithin)}
}

// run runs one schedule within a budget as the strategy says that next returns. Where something disturbs it, it is run
// again, by another strategy of next's. The execution is nil if none could begin.
func (r runner) run(ctx context.Context, b interleave.Budget, next func() strategy.Strategy) (*execution, error) {
	return r.undisturbed(ctx, b, func() (*execution, error) { return r.once(ctx, b, next()) })
}

// once runs one schedule. The execution is nil if it could not begin.
func (r runner) once(ctx context.Context, b interleave.Budget, s strategy.Strategy) (*execution, error) {
	ex, err := beginSchedule(ctx, r.spec, b, r.w, r.alarm)
	if err != nil {
		return nil, err
	}
	if r.traced {
		ex.trace = &trace.Trace{Stores: r.stores, Scripts: r.w.Scripts}
	}
	_, err = ex.drive(ctx, s, ex)
	return ex.execution, err
}

// undisturbed calls attempt until it runs a schedule that nothing disturbs, and returns that, with the error of the
// attempt. The error wraps errDisturbed if that never happens. Where something stood still each time and the schedule
// went well all the same, it counts.
func (r runner) undisturbed(ctx context.Context, b interleave.Budget,
	attempt func() (*execution, error)) (ex *execution, err error) {
	why := ""
	for number := range maxAttempts {
		began, still, strays := time.Now(), r.w.standstills(), r.w.strayCommands
		ex, err = attempt()
		switch {
		case r.w.standstills() > still && mayComeOfStandstill(ex, err) && (err != nil || number < maxAttempts-1):
			why = "this machine, this process or its Redis stood still"
			r.w.putAway()
			r.w.strayCommands = strays
		case ex == nil || err != nil &&
			!(ex.Disturbed() && (errors.Is(err, ErrDiverged) || errors.Is(err, schedule.ErrNotRepeated))):
			return ex, err
		case ex.missesScript:
			why = "a script that Redis had lost was not sent again by any client"
			if err := r.learnScripts(ctx, b, number, len(ex.path)); err != nil {
				return ex, err
			}
		case ex.waitCutShort:
			why = "WAIT returned before its replicas had acknowledged: this machine is too busy"
		case !r.w.SetsClocks() && time.Since(began) > r.spec.Program.Lease/slowness:
			why = "it took more than a tenth of the lease: this machine is too busy, or a client waits by itself " +
				"(time.Sleep) where harness.Sleep would do"
		default:
			return ex, nil
		}
	}
	return ex, fmt.Errorf("%w: %s", errDisturbed, why)
}

// mayComeOfStandstill reports whether a schedule may have gone another way since something stood still. One that was
// run from memory, whose execution is nil, has not. Where Redis does not answer any more nothing can be run again.
func mayComeOfStandstill(ex *execution, err error) bool {
	if err == nil {
		return ex != nil
	}
	return !errors.Is(err, resp.ErrSilent) && !errors.Is(err, errDisturbed)
}

// learnScripts runs a schedule that is drawn at random, so that clients load the scripts that they miss. In the
// schedule of the attempt something may keep them from that: a crash, or a release that stops the watchdog of a lock.
// It is another schedule each time, as that may happen in one of them, too.
func (r runner) learnScripts(ctx context.Context, b interleave.Budget, number, steps int) error {
	r.traced = false
	_, err := r.once(ctx, b, strategy.Draw(rand.New(rand.NewPCG(1, uint64(number))),
		strategy.Shape{Depth: defaultDepth, Steps: steps, Budget: b}))
	if errors.Is(err, schedule.ErrStopped) { // its end is of no interest
		return nil
	}
	return err
}
