package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// faultsInForce tracks the faults of a run that are in force. It also keeps the healed faults after which the system
// was not whole yet, because others were in force.
type faultsInForce struct {
	recovering chan struct{} // serves as a lock: no fault begins while the run waits for a whole system

	mu     sync.Mutex
	faults []*Fault      // in order of Start; of a fault that another goroutine runs, only the Name may be read
	fewer  chan struct{} // closed, and replaced, when a fault ends
	healed []Fault       // healed faults that still lack their End
	begun  int           // number of faults that have begun so far
}

func newFaultsInForce() *faultsInForce {
	return &faultsInForce{recovering: make(chan struct{}, 1), fewer: make(chan struct{})}
}

// begin sets the fault's Start and Number and adds it to the faults in force. If the run is waiting for the system to
// be whole, begin waits as well.
func (o *faultsInForce) begin(f *Fault, clock Clock) {
	o.recovering <- struct{}{}
	defer func() { <-o.recovering }()
	o.mu.Lock()
	defer o.mu.Unlock()
	f.Start = clock.Now()
	o.begun++
	f.Number = o.begun
	o.faults = append(o.faults, f)
}

// end removes a healed fault from the faults in force, and returns true if none is left. A fault that never started
// leaves no record.
func (o *faultsInForce) end(f *Fault) (last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(o.faults, f)
	o.faults = slices.Delete(o.faults, i, i+1)
	if f.Start > 0 {
		o.healed = append(o.healed, *f)
	}
	close(o.fewer)
	o.fewer = make(chan struct{})
	return len(o.faults) == 0
}

// waitForLater waits until no fault that began after f is in force, but no longer than the given time. So when all
// faults of a run have to heal at once, the last to start heals first.
func (o *faultsInForce) waitForLater(f *Fault, within time.Duration) {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		o.mu.Lock()
		last, fewer := o.faults[len(o.faults)-1] == f, o.fewer
		o.mu.Unlock()
		if last {
			return
		}
		select {
		case <-fewer:
		case <-late.C:
			return
		}
	}
}

// takeHealed returns and removes the faults that have healed since the last call.
func (o *faultsInForce) takeHealed() []Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	healed := o.healed
	o.healed = nil
	return healed
}

// othersInForce reports whether faults other than f are in force.
func (o *faultsInForce) othersInForce(f *Fault) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.faults, func(other *Fault) bool { return other != f })
}

// allHealed reports whether no fault is in force.
func (o *faultsInForce) allHealed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.faults) == 0
}

// names lists the faults in force.
func (o *faultsInForce) names() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for _, f := range o.faults {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// heal undoes a fault. If that was the last fault in force, heal waits until the system is whole. heal also works after
// ctx has ended. In that case all faults of the run heal at once, the last to start first.
func (r *run) heal(ctx context.Context, inj Injection, f *Fault) (err error) {
	if ctx.Err() != nil {
		r.inForce.waitForLater(f, injectWithin)
	}
	ctx = context.WithoutCancel(ctx)
	f.Heal = r.clock.Now()
	if f.Start > 0 {
		r.rec.fault(*f)
	}
	if inj.Heal != nil {
		ctx, cancel := context.WithTimeout(ctx, wholeWithin)
		defer cancel()
		if err = catchPanic("its Heal", func() error { return inj.Heal(ctx) }); err != nil {
			err = fmt.Errorf("harness: heal %s: %w", f.Name, err)
		}
	}
	if r.inForce.end(f) {
		err = errors.Join(err, r.awaitWhole(ctx))
	}
	return err
}

// awaitWhole waits until the system is whole and records the time as the End of the faults that had healed.
func (r *run) awaitWhole(ctx context.Context) error {
	o := r.inForce
	o.recovering <- struct{}{}
	defer func() { <-o.recovering }()
	if !o.allHealed() {
		return nil // another fault has begun meanwhile: its heal waits for both
	}
	ctx, cancel := context.WithTimeout(ctx, wholeWithin)
	defer cancel()
	err := catchPanic("the System's AwaitWhole", func() error { return r.System.AwaitWhole(ctx) })
	if err != nil {
		err = fmt.Errorf("harness: the system did not recover within %v of the heal: %w", wholeWithin, err)
	}
	whole := r.clock.Now()
	for _, f := range o.takeHealed() {
		if err == nil {
			f.End = whole
		}
		r.rec.fault(f)
	}
	return err
}
