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

// This file runs schedules: a strategy chooses each move, and the execution carries it out.

const (
	maxAttempts = 20 // how often one schedule is run at most, if it is disturbed or the machine is slow
	// if clocks cannot be set, a schedule that takes longer than lease/slowness is run again
	slowness = 10
)

// errDisturbed marks a schedule that was disturbed in every attempt.
var errDisturbed = fmt.Errorf("explore: a schedule was disturbed %d times in a row", maxAttempts)

// drive runs a schedule to the end that its strategy chooses, and returns how it ended. The parameter v is the
// strategy's view.
func (ex *execution) drive(ctx context.Context, s strategy.Strategy,
	v strategy.View) (ended strategy.Decision, err error) {
	for {
		if ex.watch != nil {
			for _, a := range ex.all {
				ex.watch(a)
			}
		}
		c, decision, err := s.Next(v)
		switch {
		case decision == strategy.Leave && ex.backend.hasRealClients(): // to some end, so that they stay connected
			_, endErr := ex.drive(ctx, &strategy.First{}, ex)
			return decision, errors.Join(err, endErr)
		case decision == strategy.Leave:
			return decision, err
		case err != nil:
			ex.abandon()
			return decision, err
		case decision == strategy.Finish:
			return decision, ex.finish(ctx)
		case decision == strategy.Stop:
			return decision, nil
		}
		did, err := ex.step(ctx, c)
		if err != nil {
			ex.abandon()
			return decision, err
		}
		s.Took(did)
	}
}

// A strategy sees the execution itself.
var _ strategy.View = (*execution)(nil)

func (ex *execution) Path() []interleave.Choice { return ex.path }
func (ex *execution) Fingerprint() uint64       { return ex.fingerprint }
func (ex *execution) Unpromoted() bool          { return ex.replicationStopped }
func (ex *execution) Disturbed() bool           { return ex.missesScript || ex.waitCutShort }

func (ex *execution) FingerprintAfter(c interleave.Choice) uint64 {
	return ex.backend.fingerprintAfter(c)
}

// Visit returns false. Only a search of every schedule looks up states, with its own view.
func (ex *execution) Visit([]*schedule.Move) (bool, error) { return false, nil }

// runner runs schedules in one world.
type runner struct {
	spec   *Spec
	w      *world
	traced bool // steps are written down
	stores bool // the store after each step is written down as well
}

// run runs one schedule within a budget, and runs it again if it was disturbed. Each attempt gets its own strategy from
// the function next. The execution is nil if no attempt could begin.
func (r runner) run(ctx context.Context, b interleave.Budget, next func() strategy.Strategy) (*execution, error) {
	return r.undisturbed(ctx, b, func() (*execution, error) { return r.once(ctx, b, next()) })
}

// once runs one schedule. The execution is nil if it could not begin.
func (r runner) once(ctx context.Context, b interleave.Budget, s strategy.Strategy) (*execution, error) {
	ex, err := beginSchedule(ctx, r.spec, b, r.w)
	if err != nil {
		return nil, err
	}
	if r.traced {
		ex.trace = trace.New(r.w.Scripts, r.stores)
	}
	_, err = ex.drive(ctx, s, ex)
	return ex.execution, err
}

// undisturbed makes attempts until a schedule is not disturbed, and returns this schedule with the attempt's error. If
// every attempt is disturbed, the error wraps errDisturbed. A last attempt that succeeded counts even if a standstill
// disturbed it.
func (r runner) undisturbed(ctx context.Context, b interleave.Budget,
	attempt func() (*execution, error)) (ex *execution, err error) {
	why := ""
	for number := range maxAttempts {
		began, still, strays := time.Now(), r.w.standstills(), r.w.outOfTurn
		ex, err = attempt()
		switch {
		case r.w.standstills() > still && mayComeOfStandstill(ex, err) && (err != nil || number < maxAttempts-1):
			why = "this machine, this process or its Redis stood still"
			r.w.abandonDisturbed()
			r.w.outOfTurn = strays
		case ex == nil || err != nil && !ex.disturbanceExplains(err):
			return ex, err
		case ex.missesScript:
			why = "no client sent a script again that Redis had lost"
			if err := r.learnScripts(ctx, b, number, len(ex.path)); err != nil {
				return ex, err
			}
		case ex.waitCutShort:
			why = "WAIT returned before its replicas acknowledged: this machine is too busy"
		case !r.w.SetsClocks() && time.Since(began) > r.spec.Program.Lease/slowness:
			why = "it took more than a tenth of the lease: this machine is too busy, or a client waits by " +
				"time.Sleep instead of harness.Sleep"
		default:
			return ex, nil
		}
	}
	return ex, fmt.Errorf("%w: %s", errDisturbed, why)
}

// disturbanceExplains reports whether the schedule was disturbed, and err says that it could not be followed.
func (ex *execution) disturbanceExplains(err error) bool {
	return ex.Disturbed() && (errors.Is(err, ErrDiverged) || errors.Is(err, schedule.ErrNotRepeated))
}

// mayComeOfStandstill reports whether a standstill may have caused the outcome of an attempt, so that the schedule
// should be run again. The parameter ex is nil if the attempt was run from memory. If such an attempt succeeded, the
// result is false. If Redis no longer answers, the result is false, since another attempt is pointless.
func mayComeOfStandstill(ex *execution, err error) bool {
	if err == nil {
		return ex != nil
	}
	return !errors.Is(err, resp.ErrSilent) && !errors.Is(err, errDisturbed)
}

// learnScripts runs a random schedule, so that clients load the scripts that Redis lacks. The parameter number is its
// seed. The schedule in which a script was missing may never load it, for example if the client crashes before that.
func (r runner) learnScripts(ctx context.Context, b interleave.Budget, number, steps int) error {
	r.traced = false
	_, err := r.once(ctx, b, strategy.Draw(rand.New(rand.NewPCG(1, uint64(number))),
		strategy.Shape{Depth: defaultDepth, Steps: steps, Budget: b}))
	if errors.Is(err, schedule.ErrStopped) { // how it ended does not matter
		return nil
	}
	return err
}
