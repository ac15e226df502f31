package harness

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// stopGrace bounds how long operations under way may take after the load has ended. It is also the default of Spec.Final.
const stopGrace = 30 * time.Second

// Result holds what a run recorded and found.
type Result struct {
	Meta    Meta
	History History
	Notes   []string // remarks for readers that the history does not hold: which watchers were left behind
	Judged
}

// Run races spec's clients on spec's system, injects spec's faults and judges the history.
//
// The error says that the harness or its environment failed, never that the system under test is wrong: the Verdict says that.
// When ctx ends early the load stops, faults heal, and what was recorded is judged; the history then
// carries the reason, and cannot be Valid. A Result beside an error holds whatever was recorded.
func Run(ctx context.Context, spec Spec) (Result, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return Result{}, err
	}
	if err := spec.Fleet.begin(); err != nil {
		return Result{}, err
	}
	defer spec.Fleet.end()
	r := &run{Spec: spec, clock: NewClock(), stop: make(chan struct{}), outages: newOutages()}
	runErr := r.record(ctx)
	res := Result{Meta: r.meta, Notes: r.notes}
	h, err := spec.Store.History()
	if err != nil {
		return res, errors.Join(runErr, fmt.Errorf("harness: read the history back: %w", err))
	}
	res.History = h
	// Judged even when ctx has ended: whoever interrupts a run wants to know what it had found.
	judgeCtx := context.WithoutCancel(ctx)
	res.Judged = Judge(judgeCtx, h, spec.Checkers)
	return res, runErr
}

type run struct {
	Spec
	clock   Clock
	meta    Meta
	rec     *recorder
	watch   *watch
	abort   context.CancelCauseFunc
	stop    chan struct{}   // closed when the load ends
	enough  context.Context // done when the load is to end, in time or early
	sated   context.Context // done when it is to end as soon as all faults have had their time
	quota   Quota           // nil: there is none
	outages *faultsInForce
	notes   []string              // of the Result
	failed  atomic.Pointer[error] // the first client that panicked
	workers []*worker
}

// worker is one of the load's concurrent workers, with its present client.
type worker struct {
	workload Workload
	client   Client
	session  *Session
	proc     *fleetMember
}

// record does the whole run, from the first record to the closed store.
func (r *run) record(parent context.Context) (err error) {
	ctx, abort := context.WithCancelCause(parent)
	defer abort(nil)
	r.abort, r.meta = abort, r.Spec.meta(r.clock, r.System.Groups())
	if err := r.Store.WriteMeta(r.meta); err != nil {
		return errors.Join(fmt.Errorf("harness: write the history: %w", err), r.Store.Close())
	}
	enough, first := context.WithCancel(ctx)
	defer first()
	r.enough = enough
	if !r.StopOnFirst {
		first = nil
	}
	r.sated = enough
	if r.Quota != nil {
		var sate func()
		r.sated, sate = context.WithCancel(enough)
		defer sate()
		r.quota = r.Quota(sate)
		r.Watchers = append(slices.Clip(r.Watchers), r.quota)
	}
	r.watch = newWatch(r.clock, r.meta, r.Spec, first, func() []Fault { return r.rec.faultsSoFar() })
	r.rec = newRecorder(r.clock, r.sources()+1, r.Store, r.shower(), func(err error) {
		abort(fmt.Errorf("harness: write the history: %w", err))
	})
	err = r.onSystem(ctx)
	switch cause := context.Cause(ctx); {
	case r.failed.Load() != nil:
		err = *r.failed.Load()
	case cause != nil && parent.Err() == nil:
		err = cause // what stopped the run explains more than what then failed
	}
	return errors.Join(err, r.close(parent, err))
}

// close ends the history, with the reason if it ended early.
func (r *run) close(parent context.Context, err error) error {
	end := End{At: r.clock.Now()}
	switch {
	case err != nil:
		end.Reason = err.Error()
	case parent.Err() != nil:
		end.Reason = "interrupted"
	case r.quota != nil && r.enough.Err() == nil: // nothing else has ended it
		end.Reason = r.quota.Lacking()
	}
	return errors.Join(r.Store.WriteEnd(end), r.Store.Close())
}

// onSystem starts the system, loads it and stops it. Every operation is in the store when it returns.
func (r *run) onSystem(ctx context.Context) (err error) {
	writing, written := context.WithCancel(context.WithoutCancel(ctx))
	var writer sync.WaitGroup
	writer.Go(func() { r.rec.run(writing) })
	defer func() { r.notes = r.watch.end(watchGrace) }()
	defer writer.Wait()
	defer written()
	defer func() { err = errors.Join(err, r.System.Stop()) }()
	if err := r.System.Start(ctx, r.clock, r.rec.event, r.Log); err != nil {
		return err
	}
	if err := r.openAll(ctx); err != nil {
		return err
	}
	if err := r.load(ctx); err != nil {
		return err
	}
	return catchPanic("a workload's Finish", func() error { return r.finish(ctx) })
}

// sources returns how many workers or generators record operations.
func (r *run) sources() int {
	if len(r.Generators) > 0 {
		return len(r.Generators)
	}
	return r.meta.Workers
}

// openAll opens every client, here or elsewhere.
func (r *run) openAll(ctx context.Context) error {
	if len(r.Generators) > 0 {
		return r.openGenerators(ctx)
	}
	return catchPanic("a workload's Open", func() error { return r.open(ctx, Share{0, r.meta.Workers}) })
}

// open makes every worker of a share, with its client and its session.
func (r *run) open(ctx context.Context, share Share) error {
	i := -1
	for _, l := range r.loads() {
		for range l.Clients {
			if i++; i < share.First || i >= share.End {
				continue
			}
			c, err := l.Workload.Open(ctx, r.meta.Group(i))
			if err != nil {
				return fmt.Errorf("harness: open client %d of %s: %w", i, l.Workload.Name(), err)
			}
			proc := r.Fleet.enlist(r.meta.Group(i))
			s := r.session(i, i-share.First, rngStream(r.Seed, uint64(i)), proc, r.stop)
			r.workers = append(r.workers, &worker{workload: l.Workload, client: c, session: s, proc: proc})
		}
	}
	return nil
}

// load runs the clients and the nemeses until both have had their time, or ctx ends.
func (r *run) load(ctx context.Context) error {
	var workers sync.WaitGroup
	opCtx, abandon := context.WithCancel(context.WithoutCancel(ctx)) // operations end by themselves, not in the middle
	defer abandon()
	for _, w := range r.workers {
		workers.Go(func() { r.work(opCtx, w) })
	}
	for i := range r.Generators {
		workers.Go(func() { r.generate(opCtx, i) })
	}
	var reporting sync.WaitGroup
	reporting.Go(r.report)
	err := r.runTimetable(r.enough)
	r.Fleet.release() // what a nemesis left paused would never end
	close(r.stop)
	patience := stopGrace
	if len(r.Generators) > 0 {
		patience += generatorGrace
	}
	grace := time.AfterFunc(patience, abandon)
	defer grace.Stop()
	workers.Wait()
	reporting.Wait()
	return err
}

// work steps a worker's clients, one after the other if they crash, until the load ends.
func (r *run) work(ctx context.Context, w *worker) {
	turn := r.stepWaiter(w.session)
	steps := func() error {
		ctx := w.proc.bindContext(ctx)
		for turn() {
			w.client.Step(ctx, w.session)
		}
		return nil
	}
	whose := fmt.Sprintf("client %d", w.session.id)
	err := catchPanic(whose, steps)
	for errors.Is(err, ErrCrashed) {
		if err = catchPanic(whose, func() error { return r.replaceClient(ctx, w) }); err == nil {
			err = catchPanic(whose, steps)
		}
	}
	if err != nil {
		r.failed.CompareAndSwap(nil, &err)
		r.abort(err)
	}
}

// stepWaiter returns a function that waits for a worker's next step and reports whether the load goes on.
func (r *run) stepWaiter(s *Session) func() bool {
	mean := time.Duration(0)
	if r.Rate > 0 {
		mean = time.Duration(float64(r.meta.Workers) / r.Rate * float64(time.Second))
	}
	if !r.OpenLoop {
		return func() bool { return s.Sleep(time.Duration(s.Rand.Float64() * 2 * float64(mean))) }
	}
	p := pacer{mean: mean, due: r.clock.Now(), rng: s.Rand}
	return func() bool {
		s.due = p.nextDue()
		return s.Sleep(s.due - r.clock.Now())
	}
}

// replaceClient opens a new client, under a new id, for a worker whose client has crashed. If that fails it tries again for as long as
// the load goes on: the system may be broken as well.
func (r *run) replaceClient(ctx context.Context, w *worker) error {
	w.proc = r.Fleet.replaceDead(w.proc)
	w.session.time.(*workerTimeline).proc = w.proc
	w.session.id += w.session.workers
	for {
		c, err := w.workload.Open(ctx, w.session.Group)
		if err == nil {
			w.client = c
			return nil
		}
		r.Log.Warn("no client opened in the place of a crashed one", "client", w.session.id, "err", err)
		if !w.session.Backoff() {
			return nil
		}
	}
}

// catchPanic turns a panic of f, which runs code of others, into an error, so that the run still ends in good order. The panic of a
// client that a nemesis crashed becomes ErrCrashed.
func catchPanic(whose string, f func() error) (err error) {
	defer func() {
		switch p := recover(); {
		case p == nil:
		case isCrash(p):
			err = ErrCrashed
		default:
			err = fmt.Errorf("harness: %s panicked: %v\n%s", whose, p, debug.Stack())
		}
	}()
	return f()
}

// isCrash reports whether a panic is that of a client that a nemesis crashed, or of one that panicked with ErrCrashed.
func isCrash(panicked any) bool {
	if _, ok := panicked.(crash); ok {
		return true
	}
	err, ok := panicked.(error)
	return ok && errors.Is(err, ErrCrashed)
}

// finish waits for the system to be whole and lets the workloads record what is left, such as a final read.
func (r *run) finish(ctx context.Context) error {
	interrupted := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.Final)
	defer cancel()
	over := endOfWaits(ctx, interrupted)
	for i, l := range r.loads() {
		f, ok := l.Workload.(Finisher)
		if !ok {
			continue
		}
		if err := r.System.AwaitWhole(ctx); err != nil {
			return fmt.Errorf("harness: the system is not whole for the final read: %w", err)
		}
		s := r.session(r.meta.Workers, r.sources(), rngStream(r.Seed, finishStream+uint64(i)), nil, over)
		s.id = HarnessClient
		if err := f.Finish(ctx, s); err != nil {
			return fmt.Errorf("harness: finish %s: %w", l.Workload.Name(), err)
		}
	}
	return nil
}

// patience bounds the time that the final reads of an interrupted run may still wait, such as for leases to end.
const patience = 3 * time.Second

// endOfWaits returns a channel that is closed when the final reads are to wait no longer: when final is done, or patience after
// the run was interrupted.
func endOfWaits(final, interrupted context.Context) <-chan struct{} {
	over, end := context.WithCancel(final)
	context.AfterFunc(interrupted, func() { time.AfterFunc(patience, end) })
	return over.Done()
}

// report calls Progress once a second while the load runs.
func (r *run) report() {
	if r.Progress == nil {
		return
	}
	start := r.clock.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.stop:
			return
		}
		n := r.rec.totals()
		r.Progress(Progress{
			Elapsed: r.clock.Now() - start, OK: n[OK], Fail: n[Fail], Info: n[Info], Found: r.watch.count.Load(), Fault: r.outages.names(),
		})
	}
}
