package harness

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// wholeWithin bounds how long the system may take to be whole again after a heal. Longer is a failed environment.
const wholeWithin = 30 * time.Second

// injectWithin bounds how long a fault may take to be in force; tenths of a second are usual.
const injectWithin = 10 * time.Second

// schedule lets the load run for its Duration, with the faults of Steps one after the other, calm before and after
// each. The load does not end before the last fault has healed and its calm has passed.
func (r *run) schedule(ctx context.Context) error {
	start := r.clock.Now()
	rng := stream(r.Seed, nemesisStream)
	for _, step := range r.Steps {
		wait(ctx, r.Calm)
		if ctx.Err() != nil {
			return nil
		}
		inject := func() (Injection, error) {
			ctx, cancel := context.WithTimeout(ctx, injectWithin)
			defer cancel()
			return step.Nemesis.Inject(ctx, rng)
		}
		if err := r.inForce(ctx, step, inject); err != nil {
			return err
		}
	}
	if len(r.Steps) > 0 {
		wait(ctx, r.Calm)
	}
	wait(ctx, start+r.Duration-r.clock.Now())
	return nil
}

// inForce owns everything around one fault that is the same for all: its record, its time, the proof and the heal.
func (r *run) inForce(ctx context.Context, step Step, inject func() (Injection, error)) (err error) {
	name := step.Nemesis.Name()
	r.fault.Store(&name)
	defer r.fault.Store(nil)
	f := Fault{Name: name, Start: r.clock.Now()}
	inj, err := inject()
	defer func() { // on every path, a panic of Prove included
		f.Heal = r.clock.Now()
		whole := r.heal(ctx, inj)
		if whole == nil {
			f.End = r.clock.Now()
		}
		err = errors.Join(err, whole)
		r.rec.fault(f)
	}()
	f.Bit, f.Targets, f.Groups, f.Proof = r.clock.Now(), inj.Targets, inj.Groups, inj.Bite
	if err != nil {
		f.Proof = err.Error()
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("harness: inject %s: %w", name, err)
	}
	r.Log.Info("fault in force", "fault", name, "targets", inj.Targets, "bite", inj.Bite)
	f.Proved, f.Proof = r.prove(ctx, inj, step.For)
	wait(ctx, f.Bit+step.For-r.clock.Now())
	return nil
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

// heal undoes a fault and waits until the system is whole, even when ctx has ended.
func (r *run) heal(ctx context.Context, inj Injection) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wholeWithin)
	defer cancel()
	if inj.Heal == nil {
		return nil
	}
	if err := inj.Heal(ctx); err != nil {
		return fmt.Errorf("harness: heal: %w", err)
	}
	if err := r.System.AwaitWhole(ctx); err != nil {
		return fmt.Errorf("harness: the system did not become whole within %v of the heal: %w", wholeWithin, err)
	}
	return nil
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
