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

// faultsInForce keeps account of the faults of all sequences of a run: which are in force, and which have healed but wait for others
// to heal before the system can be whole.
type faultsInForce struct {
	mending chan struct{} // holds one token, taken while the run waits for a whole system: no fault begins then

	mu      sync.Mutex
	inForce []*Fault      // in the order in which they began; a sequence may read only the names of another sequence's faults
	fewer   chan struct{} // closed, and replaced, when a fault is in force no longer
	healed  []Fault       // healed faults that still lack their End
	begun   int           // number of faults so far
}

func newOutages() *faultsInForce {
	return &faultsInForce{mending: make(chan struct{}, 1), fewer: make(chan struct{})}
}

// begin waits for a mending under way to end, sets the fault's Start and Number, and counts it as in force from now on.
func (o *faultsInForce) begin(f *Fault, clock Clock) {
	o.mending <- struct{}{}
	defer func() { <-o.mending }()
	o.mu.Lock()
	defer o.mu.Unlock()
	f.Start = clock.Now()
	o.begun++
	f.Number = o.begun
	o.inForce = append(o.inForce, f)
}

// end counts a healed fault as no longer in force, and reports whether it was the last. A fault that never started leaves no
// record.
func (o *faultsInForce) end(f *Fault) (last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(o.inForce, f)
	o.inForce = slices.Delete(o.inForce, i, i+1)
	if f.Start > 0 {
		o.healed = append(o.healed, *f)
	}
	close(o.fewer)
	o.fewer = make(chan struct{})
	return len(o.inForce) == 0
}

// waitForLater waits until no fault is in force that began after f, at most for within. When the faults of several sequences all have to
// heal at once, the last that began heals first.
func (o *faultsInForce) waitForLater(f *Fault, within time.Duration) {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		o.mu.Lock()
		last, fewer := o.inForce[len(o.inForce)-1] == f, o.fewer
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

// takeHealed returns and forgets the faults that have healed since the last call.
func (o *faultsInForce) takeHealed() []Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	healed := o.healed
	o.healed = nil
	return healed
}

// othersInForce reports whether other faults than f are in force.
func (o *faultsInForce) othersInForce(f *Fault) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.inForce, func(other *Fault) bool { return other != f })
}

// allHealed reports whether no fault is in force.
func (o *faultsInForce) allHealed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.inForce) == 0
}

// names lists the faults in force.
func (o *faultsInForce) names() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for _, f := range o.inForce {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// heal undoes a fault and, if it was the last one in force, waits until the system is whole. It does so even when ctx has ended:
// then all faults heal at once, in the reverse order of their beginning.
func (r *run) heal(ctx context.Context, inj Injection, f *Fault) (err error) {
	if ctx.Err() != nil {
		r.outages.waitForLater(f, injectWithin)
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
	if r.outages.end(f) {
		err = errors.Join(err, r.awaitWhole(ctx))
	}
	return err
}

// awaitWhole waits until the system is whole and records that as the End of the faults that had healed.
func (r *run) awaitWhole(ctx context.Context) error {
	o := r.outages
	o.mending <- struct{}{}
	defer func() { <-o.mending }()
	if !o.allHealed() {
		return nil // another fault began before this could: its heal mends both
	}
	ctx, cancel := context.WithTimeout(ctx, wholeWithin)
	defer cancel()
	err := catchPanic("the System's AwaitWhole", func() error { return r.System.AwaitWhole(ctx) })
	if err != nil {
		err = fmt.Errorf("harness: the system did not become whole within %v of the heal: %w", wholeWithin, err)
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
