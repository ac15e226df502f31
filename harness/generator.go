package harness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Generator drives a share of a run's clients somewhere else, such as in a process on another machine.
type Generator interface {
	// Name names it in errors.
	Name() string
	// Open opens the clients of a share. They do not step yet.
	Open(ctx context.Context, share Share) error
	// Load lets the clients step until stop is closed, and gives feed all that they record. It returns nil once feed has the last
	// operation. An error says that the record is not whole. When ctx ends it gives up.
	Load(ctx context.Context, stop <-chan struct{}, feed *Feed) error
}

// generatorGrace is how much longer than stopGrace a generator is waited for, which gives up its own operations after that.
const generatorGrace = 15 * time.Second

// Share is a part of a run's workers, by their numbers.
type Share struct {
	First int `json:"first"`
	End   int `json:"end"` // the number after the last
}

// Shares splits workers into n shares of about the same size. Each client group is spread over all of them.
func Shares(workers, n int) (all []Share) {
	for i := range n {
		all = append(all, Share{First: workers * i / n, End: workers * (i + 1) / n})
	}
	return all
}

// Feed brings operations and events from elsewhere into the record of a run, with times on the run's clock. One goroutine uses it.
type Feed struct {
	rec   *recorder
	slot  *slot
	mark  time.Duration
	meta  Meta
	calls map[int]time.Duration // by worker: its last Call
}

// Take hands over operations. It promises that none that comes later returns before mark. It blocks while the record is behind. The error
// says that a promise was broken: what an operation shows cannot be told any more. Operations of one worker come in the order in which it
// asked. A Call before that of its last operation is set to that, as it certainly was no earlier.
func (f *Feed) Take(ops []Op, mark time.Duration) error {
	for i := range ops {
		worker := f.meta.Worker(ops[i].Client)
		ops[i].Call = max(ops[i].Call, f.calls[worker])
		f.calls[worker] = ops[i].Call
		if ops[i].Return < f.mark || ops[i].Return < ops[i].Call {
			return fmt.Errorf("harness: an operation of client %d from %v to %v comes after all before %v were there", ops[i].Client, ops[i].Call, ops[i].Return, f.mark)
		}
	}
	for part := range slices.Chunk(ops, f.rec.limit) {
		f.rec.put(f.slot, part)
	}
	f.mark = max(f.mark, mark)
	f.slot.completing.Store(int64(f.mark) + 1) // after the operations: see recorder
	return nil
}

// Event records an event.
func (f *Feed) Event(e Event) { f.rec.event(e) }

// Now returns the time on the run's clock.
func (f *Feed) Now() time.Duration { return f.rec.clock.Now() }

// shower returns what is shown the record as it grows: the watchers, and workloads that have to know what their clients did elsewhere.
func (r *run) shower() func([]Op) {
	var observers []Observer
	for _, l := range r.loads() {
		if o, ok := l.Workload.(Observer); ok && len(r.Generators) > 0 {
			observers = append(observers, o)
		}
	}
	return func(ops []Op) {
		r.watch.handOn(ops)
		for _, o := range observers {
			for i := range ops {
				o.Observe(ops[i])
			}
		}
	}
}

// openGenerators lets every generator open its share.
func (r *run) openGenerators(ctx context.Context) error {
	var opening sync.WaitGroup
	errs := make([]error, len(r.Generators))
	for i, share := range Shares(r.meta.Workers, len(r.Generators)) {
		r.rec.slots[i].completing.Store(1) // nothing is complete before the generator says so
		opening.Go(func() {
			if err := r.Generators[i].Open(ctx, share); err != nil {
				errs[i] = fmt.Errorf("harness: %s: %w", r.Generators[i].Name(), err)
			}
		})
	}
	opening.Wait()
	return errors.Join(errs...)
}

// generate runs a generator's load.
func (r *run) generate(ctx context.Context, i int) {
	g, slot := r.Generators[i], &r.rec.slots[i]
	err := catchPanic(g.Name(), func() error {
		return g.Load(ctx, r.stop, &Feed{rec: r.rec, slot: slot, meta: r.meta, calls: map[int]time.Duration{}})
	})
	if err == nil {
		slot.completing.Store(0)
	} else { // the record ends at the feed's mark: beyond it an operation may be missing, such as a release
		err = fmt.Errorf("harness: %s: %w", g.Name(), err)
		r.failed.CompareAndSwap(nil, &err)
		r.abort(err)
	}
}

// ShareSpec says which clients of a run a generator has to drive. All but Share, Clock, Take and Log are of the whole run.
type ShareSpec struct {
	Workload Workload
	Clients  int
	Riders   []Rider
	Rate     float64 // as in Spec
	OpenLoop bool
	Seed     uint64
	Groups   int

	Share Share
	Clock Clock // of the generator

	// Take gets what the clients have recorded, in order of Return on Clock, some 50 times a second. None that comes later returns
	// before mark. It may block; an error ends the load.
	Take func(ops []Op, mark time.Duration) error

	Log *slog.Logger // default: silent
}

// ShareLoad is a generator's clients.
type ShareLoad struct{ run *run }

// OpenShare opens the clients of a share.
func OpenShare(ctx context.Context, s ShareSpec) (*ShareLoad, error) {
	spec := Spec{Workload: s.Workload, Clients: s.Clients, Riders: s.Riders, Rate: s.Rate, OpenLoop: s.OpenLoop, Seed: s.Seed, Log: s.Log}
	if spec.Log == nil {
		spec.Log = slog.New(slog.DiscardHandler)
	}
	r := &run{Spec: spec, clock: s.Clock, stop: make(chan struct{}), abort: func(error) {}}
	r.meta = spec.meta(s.Clock, s.Groups)
	switch {
	case s.Share.First < 0 || s.Share.End > r.meta.Workers || s.Share.First > s.Share.End:
		return nil, fmt.Errorf("harness: %w: a share of the workers %d to %d, and there are %d", ErrSpec, s.Share.First, s.Share.End, r.meta.Workers)
	case s.Take == nil || s.Groups < 1:
		return nil, fmt.Errorf("harness: %w: a share needs Take and Groups", ErrSpec)
	}
	r.rec = newRecorder(s.Clock, max(1, s.Share.End-s.Share.First), nil, func([]Op) {}, func(err error) { r.abort(err) })
	r.rec.away = s.Take
	err := catchPanic("a workload's Open", func() error { return r.open(ctx, s.Share) })
	return &ShareLoad{r}, err
}

// Load lets the clients step until stop is closed, or ctx ends, or Take fails. When it returns Take has had every operation. Operations
// under way when the load ends are given 30 s. It is called once.
func (l *ShareLoad) Load(ctx context.Context, stop <-chan struct{}) error {
	r := l.run
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	r.abort = abort
	writing, written := context.WithCancel(context.WithoutCancel(ctx))
	var writer sync.WaitGroup
	writer.Go(func() { r.rec.run(writing) })
	opCtx, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	var workers sync.WaitGroup
	for _, w := range r.workers {
		workers.Go(func() { r.work(opCtx, w) })
	}
	select {
	case <-stop:
	case <-ctx.Done():
	}
	close(r.stop)
	grace := time.AfterFunc(stopGrace, abandon)
	defer grace.Stop()
	workers.Wait()
	written()
	writer.Wait()
	return context.Cause(ctx)
}
