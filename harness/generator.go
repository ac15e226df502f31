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

// Generator drives a part of a run's clients, its share, in another process or on another machine.
type Generator interface {
	// Name returns the generator's name, for errors.
	Name() string
	// Open opens the clients of a share. They take no steps yet.
	Open(ctx context.Context, share Share) error
	// Load runs the clients until stop is closed. It passes to feed everything that the clients record. It returns nil
	// once feed has the last operation. An error says that the record is incomplete. Load gives up when ctx ends.
	Load(ctx context.Context, stop <-chan struct{}, feed *Feed) error
}

// generatorGrace is added to stopGrace for runs with generators. A generator gives up its own operations after
// stopGrace, and then needs time to report them.
const generatorGrace = 15 * time.Second

// Share is a part of a run's workers, by their numbers.
type Share struct {
	First int `json:"first"`
	End   int `json:"end"` // one more than the last worker's number
}

// Shares splits workers into n shares of about the same size. Each share has clients of every client group.
func Shares(workers, n int) (all []Share) {
	for i := range n {
		all = append(all, Share{First: workers * i / n, End: workers * (i + 1) / n})
	}
	return all
}

// Feed adds operations and events of a generator to the record of a run, with times on the run's clock. One goroutine
// uses it.
type Feed struct {
	rec   *recorder
	slot  *slot
	mark  time.Duration
	meta  Meta
	calls map[int]time.Duration // the last Call of each worker
}

// Record adds operations to the record. It blocks while the writer of the record is behind.
//
// The operations of one worker come in the order of their calls. A worker's operations follow each other, so a Call
// that is earlier than the worker's previous Call is set to the latter. The parameter mark is a promise: every
// operation that is passed to Record later has a Return that is not before mark. Record returns an error if an
// operation breaks an earlier promise.
func (f *Feed) Record(ops []Op, mark time.Duration) error {
	for i := range ops {
		worker := f.meta.Worker(ops[i].Client)
		ops[i].Call = max(ops[i].Call, f.calls[worker])
		f.calls[worker] = ops[i].Call
		if ops[i].Return < f.mark || ops[i].Return < ops[i].Call {
			return fmt.Errorf("harness: an operation of client %d from %v to %v arrived after all before %v had "+
				"been declared complete",
				ops[i].Client, ops[i].Call, ops[i].Return, f.mark)
		}
	}
	for part := range slices.Chunk(ops, f.rec.limit) {
		f.rec.enqueue(f.slot, part)
	}
	f.mark = max(f.mark, mark)
	f.slot.completing.Store(int64(f.mark) + 1) // after the operations: see recorder
	return nil
}

// Event records an event.
func (f *Feed) Event(e Event) { f.rec.event(e) }

// Now returns the time on the run's clock.
func (f *Feed) Now() time.Duration { return f.rec.clock.Now() }

// afterWrite returns a function that is called with operations once they are written. The function passes them to the
// watchers, and to workloads that observe clients in other processes.
func (r *run) afterWrite() func([]Op) {
	var observers []Observer
	for _, l := range r.loads() {
		if o, ok := l.Workload.(Observer); ok && len(r.Generators) > 0 {
			observers = append(observers, o)
		}
	}
	return func(ops []Op) {
		r.watch.publish(ops)
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

// generate runs a generator's load to its end.
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

// ShareSpec says which clients of a run a generator has to drive. Share, Clock, Record and Log are the generator's own.
// The other fields describe the whole run.
type ShareSpec struct {
	Workload Workload
	Clients  int
	Riders   []Rider
	Rate     float64 // as in Spec.Rate
	OpenLoop bool
	Seed     uint64
	Groups   int

	Share Share
	Clock Clock // the generator's clock

	// Record gets what the clients have recorded, in order of Return on Clock, about 50 times a second. Every operation
	// that Record gets later has a Return that is not before mark. Record may block. An error of Record ends the load.
	Record func(ops []Op, mark time.Duration) error

	Log *slog.Logger // default: silent
}

// ShareLoad is the part of a run's load that one generator drives.
type ShareLoad struct{ run *run }

// OpenShare opens the clients of a share.
func OpenShare(ctx context.Context, s ShareSpec) (*ShareLoad, error) {
	spec := Spec{Workload: s.Workload, Clients: s.Clients, Riders: s.Riders, Rate: s.Rate, OpenLoop: s.OpenLoop,
		Seed: s.Seed, Log: s.Log}
	if spec.Log == nil {
		spec.Log = slog.New(slog.DiscardHandler)
	}
	r := &run{Spec: spec, clock: s.Clock, stop: make(chan struct{}), abort: func(error) {}}
	r.meta = spec.meta(s.Clock, s.Groups)
	switch {
	case s.Share.First < 0 || s.Share.End > r.meta.Workers || s.Share.First > s.Share.End:
		return nil, fmt.Errorf("harness: %w: a share has the clients %d to %d, but there are only "+
			"%d", ErrSpec, s.Share.First,
			s.Share.End, r.meta.Workers)
	case s.Record == nil || s.Groups < 1:
		return nil, fmt.Errorf("harness: %w: a share needs Record and Groups", ErrSpec)
	}
	r.rec = newRecorder(s.Clock, max(1, s.Share.End-s.Share.First), nil, func([]Op) {
	}, func(err error) {
		r.abort(err)
	})
	r.rec.forward = s.Record
	err := catchPanic("a workload's Open", func() error { return r.open(ctx, s.Share) })
	return &ShareLoad{r}, err
}

// Load runs the clients until stop is closed, ctx ends or ShareSpec.Record fails. When Load returns, Record has got
// every operation. Operations that are under way when the load ends have 30 s to finish. Load is called once.
func (l *ShareLoad) Load(ctx context.Context, stop <-chan struct{}) error {
	r := l.run
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	r.abort = abort
	writing, written := context.WithCancel(context.WithoutCancel(ctx))
	var writer sync.WaitGroup
	writer.Go(func() { r.rec.run(writing) })
	_ = r.load(ctx, func() error {
		select {
		case <-stop:
		case <-ctx.Done():
		}
		return nil // Cause says below why ctx ended
	})
	written()
	writer.Wait()
	return context.Cause(ctx)
}
