package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// wholeWithin bounds how long the system may take to be whole again after a heal. A longer wait ends the run with an
// error.
const wholeWithin = 30 * time.Second

// injectWithin bounds how long it may take to put a fault in force. Usually it takes tenths of a second.
const injectWithin = 10 * time.Second

// runTimetable runs the sequences of faults side by side. It returns when the last fault has healed, a quiet period has
// passed, and the load has lasted for its Duration. A quota that is filled ends the wait for the Duration.
func (r *run) runTimetable(ctx context.Context) error {
	start := r.clock.Now()
	ctx, stop := context.WithCancel(ctx) // one sequence that fails ends the others
	defer stop()
	var tracks sync.WaitGroup
	failures := make([]error, len(r.tracks()))
	for i, track := range r.tracks() {
		tracks.Go(func() {
			failures[i] = catchPanic("a nemesis",
				func() error { return r.runTrack(ctx, track, rngStream(r.Seed, nemesisStream+uint64(i))) })
			if failures[i] != nil {
				stop()
			}
		})
	}
	tracks.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if len(slices.Concat(r.tracks()...)) > 0 {
		wait(ctx, r.QuietPeriod)
	}
	wait(r.quotaCtx, start+r.Duration-r.clock.Now())
	return nil
}

// runTrack injects the faults of one sequence, one after the other.
func (r *run) runTrack(ctx context.Context, track []TimedFault, rng *rand.Rand) error {
	for _, next := range track {
		wait(ctx, cmp.Or(next.After, r.QuietPeriod))
		if ctx.Err() != nil {
			return nil
		}
		inject := func() (Injection, error) {
			ctx, cancel := context.WithTimeout(ctx, injectWithin)
			defer cancel()
			return next.Nemesis.Inject(ctx, rng)
		}
		if err := r.runFault(ctx, next, inject); err != nil {
			return err
		}
	}
	return nil
}

// runFault carries out one fault: it injects, records, proves and heals it. A fault that cannot be injected ends the
// run with an error. If other faults are in force, the fault is recorded as not proved instead.
func (r *run) runFault(ctx context.Context, timed TimedFault, inject func() (Injection, error)) (err error) {
	f := &Fault{Name: timed.Nemesis.Name(), Effects: effectsOf(timed.Nemesis), Proof: "its injection did not end"}
	r.inForce.begin(f, r.clock)
	var inj Injection
	defer func() { err = errors.Join(err, r.heal(ctx, inj, f)) }() // on every path, a panic of the nemesis included
	if ctx.Err() != nil {
		f.Start = 0 // the load ended while begin waited: this fault never starts
		return nil
	}
	r.rec.fault(*f) // before it acts, so that every violation that it causes has a fault on record
	inj, err = inject()
	f.Active, f.Targets, f.Groups, f.Frozen = r.clock.Now(), inj.Targets, inj.Groups, inj.Frozen
	if err != nil {
		f.Proof = err.Error()
		switch {
		case ctx.Err() != nil:
			return nil
		// faults may get in each other's way: neither the harness nor the system has failed
		case r.inForce.othersInForce(f):
			r.Log.Warn("fault not in force", "fault", f.Name, "error", err)
			return nil
		}
		return fmt.Errorf("harness: inject %s: %w", f.Name, err)
	}
	r.Log.Info("fault in force", "fault", f.Name, "targets", inj.Targets, "bite", inj.Bite)
	f.Proof = inj.Bite + "; then nobody looked any further"
	r.rec.fault(*f)
	f.Proved, f.Proof = r.prove(ctx, inj, timed.For)
	r.rec.fault(*f)
	wait(ctx, f.Active+timed.For-r.clock.Now())
	f.addTouched(inj)
	return nil
}

// addTouched adds to the proof what the fault has touched. A fault that touched nothing is not proved.
func (f *Fault) addTouched(inj Injection) {
	if inj.Touched == nil {
		return
	}
	what, err := inj.Touched()
	if err != nil {
		f.Proved, what = false, err.Error()
	}
	f.Proof += "; " + what
}

// prove waits for the fault's consequence, at most for as long as the fault stays in force.
func (r *run) prove(ctx context.Context, inj Injection, within time.Duration) (bool, string) {
	if inj.Prove == nil {
		return true, inj.Bite
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	seen, err := inj.Prove(ctx)
	if err != nil {
		return false, fmt.Sprintf("%s; then no effect within %v: %v", inj.Bite, within, err)
	}
	return true, inj.Bite + "; " + seen
}

// wait sleeps for d or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
