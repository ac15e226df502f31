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

// stopGrace bounds how long operations that are under way when the load ends may take. It is also the default of
// Spec.FinalTimeout.
const stopGrace = 30 * time.Second

// Result holds what a run recorded and found.
type Result struct {
	Meta    Meta
	History History
	Notes   []string // remarks that are not in the history, such as which watchers fell behind
	Judged
}

// Run races spec's clients on spec's system, injects spec's faults and judges the history.
//
// The error says that the harness or its environment failed, never that the system under test is wrong: the Verdict
// says that. When ctx ends early the load stops, faults heal, and the recorded part is judged. In that case the history
// has the reason, and cannot be Valid. A Result beside an error holds what was recorded.
func Run(ctx context.Context, spec Spec) (Result, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return Result{}, err
	}
	if err := spec.Fleet.begin(); err != nil {
		return Result{}, err
	}
	defer spec.Fleet.end()
	r := &run{Spec: spec, clock: NewClock(), stop: make(chan struct{}), inForce: newFaultsInForce()}
	runErr := r.record(ctx)
	res := Result{Meta: r.meta, Notes: r.notes}
	h, err := spec.Store.History()
	if err != nil {
		return res, errors.Join(runErr, fmt.Errorf("harness: read the history back: %w", err))
	}
	res.History = h
	// Judge even when ctx has ended: a user who interrupts a run wants to know what it has found.
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
	quota   Quota // nil: no quota
	inForce *faultsInForce
	notes   []string              // remarks that become Result.Notes
	failed  atomic.Pointer[error] // error of the first client that panicked
	workers []*worker

	// How the load ends. When the timetable is over, stop is closed: no worker begins another step, and operations under
	// way have stopGrace before their context ends. The timetable may be over before its time:
	//
	//	quotaCtx  is done when the quota is filled. The faults of the timetable still have their time
	//	loadCtx   is done after the first violation if Spec.StopOnFirst, and when the run ends. Faults heal at once
	//	abort     ends the whole run, with an error
	quotaCtx context.Context
	loadCtx  context.Context
	stop     chan struct{}
	abort    context.CancelCauseFunc
}

// worker is one of the load's concurrent workers, with its current client.
type worker struct {
	workload Workload
	client   Client
	session  *Session
	timeline *workerTimeline // the session's timeline
	member   *fleetMember    // the client in the Fleet; nil: no Fleet
}

// record carries out the whole run, from the first record to the closed store.
func (r *run) record(parent context.Context) (err error) {
	ctx, abort := context.WithCancelCause(parent)
	defer abort(nil)
	r.abort, r.meta = abort, r.Spec.meta(r.clock, r.System.Groups())
	if err := r.Store.WriteMeta(r.meta); err != nil {
		return errors.Join(fmt.Errorf("harness: write the history: %w", err), r.Store.Close())
	}
	loadCtx, endLoad := context.WithCancel(ctx)
	defer endLoad()
	r.loadCtx, r.quotaCtx = loadCtx, loadCtx
	var onFirst func()
	if r.StopOnFirst {
		onFirst = endLoad
	}
	if r.Quota != nil {
		quotaCtx, filled := context.WithCancel(loadCtx)
		defer filled()
		r.quotaCtx, r.quota = quotaCtx, r.Quota(filled)
		r.Watchers = append(slices.Clip(r.Watchers), r.quota)
	}
	r.watch = newWatch(r.clock, r.meta, r.Spec, onFirst, func() []Fault { return r.rec.faultsSoFar() })
	r.rec = newRecorder(r.clock, r.sources()+1, r.Store, r.afterWrite(), func(err error) {
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

// close ends the history, with the reason if the run ended early.
func (r *run) close(parent context.Context, err error) error {
	end := End{At: r.clock.Now()}
	switch {
	case err != nil:
		end.Reason = err.Error()
	case parent.Err() != nil:
		end.Reason = "interrupted"
	case r.quota != nil && r.loadCtx.Err() == nil: // nothing else has ended it
		end.Reason = r.quota.Lacking()
	}
	return errors.Join(r.Store.WriteEnd(end), r.Store.Close())
}

// onSystem starts the system, runs the load on it and stops it. When it returns, every operation is in the store.
func (r *run) onSystem(ctx context.Context) (err error) {
	writing, written := context.WithCancel(context.WithoutCancel(ctx))
	var writer sync.WaitGroup
	writer.Go(func() { r.rec.run(writing) })
	defer func() { r.notes = r.watch.finish(watchGrace) }()
	defer writer.Wait()
	defer written()
	defer func() { err = errors.Join(err, r.System.Stop()) }()
	if err := r.System.Start(ctx, r.clock, r.rec.event, r.Log); err != nil {
		return err
	}
	if err := r.openAll(ctx); err != nil {
		return err
	}
	if err := r.load(ctx, func() error { return r.runTimetable(r.loadCtx) }); err != nil {
		return err
	}
	return catchPanic("a workload's Finish", func() error { return r.finish(ctx) })
}

// sources returns the number of workers or generators that record operations.
func (r *run) sources() int {
	if len(r.Generators) > 0 {
		return len(r.Generators)
	}
	return r.meta.Workers
}

// openAll opens every client, in this process or in the generators.
func (r *run) openAll(ctx context.Context) error {
	if len(r.Generators) > 0 {
		return r.openGenerators(ctx)
	}
	return catchPanic("a workload's Open", func() error { return r.open(ctx, Share{0, r.meta.Workers}) })
}

// open makes every worker of a share, with its client and session.
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
			member := r.Fleet.enlist(r.meta.Group(i))
			t := r.timeline(i-share.First, member, r.stop)
			s := r.session(t, i, rngStream(r.Seed, uint64(i)))
			r.workers = append(r.workers, &worker{l.Workload, c, s, t, member})
		}
	}
	return nil
}

// load runs the clients until the given function returns, and waits for the operations under way. It returns the
// function's error.
func (r *run) load(ctx context.Context, over func() error) error {
	var workers sync.WaitGroup
	opCtx, cancelOps := context.WithCancel(context.WithoutCancel(ctx)) // operations under way may finish
	defer cancelOps()
	for _, w := range r.workers {
		workers.Go(func() { r.work(opCtx, w) })
	}
	for i := range r.Generators {
		workers.Go(func() { r.generate(opCtx, i) })
	}
	var reporting sync.WaitGroup
	reporting.Go(r.report)
	err := over()
	r.Fleet.release() // a client that is still paused could not end
	close(r.stop)
	grace := stopGrace
	if len(r.Generators) > 0 {
		grace += generatorGrace
	}
	timer := time.AfterFunc(grace, cancelOps)
	defer timer.Stop()
	workers.Wait()
	reporting.Wait()
	return err
}

// work runs a worker's client step by step until the load ends. It replaces a client that crashes.
func (r *run) work(ctx context.Context, w *worker) {
	nextStep := r.stepWaiter(w.session)
	steps := func() error {
		ctx := w.member.bindContext(ctx)
		for nextStep() {
			w.client.Step(ctx, w.session)
		}
		return nil
	}
	who := fmt.Sprintf("client %d", w.session.id)
	err := catchPanic(who, steps)
	for errors.Is(err, ErrCrashed) {
		if err = catchPanic(who, func() error { return r.replaceClient(ctx, w) }); err == nil {
			err = catchPanic(who, steps)
		}
	}
	if err != nil {
		r.failed.CompareAndSwap(nil, &err)
		r.abort(err)
	}
}

// stepWaiter returns a function that waits for the time of a worker's next step. That function returns false when the
// load has ended.
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

// replaceClient opens a new client, under a new id, for a worker whose client has crashed. The system may be broken as
// well, so it tries again until the load ends.
func (r *run) replaceClient(ctx context.Context, w *worker) error {
	w.member = r.Fleet.replaceDead(w.member)
	w.timeline.member = w.member
	w.session.takeNewID()
	for {
		c, err := w.workload.Open(ctx, w.session.Group)
		if err == nil {
			w.client = c
			return nil
		}
		r.Log.Warn("no client could replace a crashed one", "client", w.session.id, "err", err)
		if !w.session.Backoff() {
			return nil
		}
	}
}

// catchPanic calls f, which runs code that is not the harness's. It returns a panic as an error, so that the run still
// ends in good order. The panic of a client that a nemesis crashed becomes ErrCrashed.
func catchPanic(who string, f func() error) (err error) {
	defer func() {
		switch p := recover(); {
		case p == nil:
		case isCrash(p):
			err = ErrCrashed
		default:
			err = fmt.Errorf("harness: %s panicked: %v\n%s", who, p, debug.Stack())
		}
	}()
	return f()
}

// isCrash reports whether a panic comes from a client that a nemesis crashed, or has ErrCrashed as its value.
func isCrash(panicked any) bool {
	if _, ok := panicked.(crash); ok {
		return true
	}
	err, ok := panicked.(error)
	return ok && errors.Is(err, ErrCrashed)
}

// finish lets the workloads record their final operations, such as a final read, once the system is whole.
func (r *run) finish(runCtx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(runCtx), r.FinalTimeout)
	defer cancel()
	noMoreWaits := endOfWaits(ctx, runCtx)
	for i, l := range r.loads() {
		f, ok := l.Workload.(Finisher)
		if !ok {
			continue
		}
		if err := r.System.AwaitWhole(ctx); err != nil {
			return fmt.Errorf("harness: the system had not recovered at the final read: %w", err)
		}
		t := r.timeline(r.sources(), nil, noMoreWaits)
		s := r.session(t, r.meta.Workers, rngStream(r.Seed, finishStream+uint64(i)))
		s.id = HarnessClient
		if err := f.Finish(ctx, s); err != nil {
			return fmt.Errorf("harness: finish %s: %w", l.Workload.Name(), err)
		}
	}
	return nil
}

// finalGrace bounds how long the final reads of an interrupted run may still wait, such as for leases to end.
const finalGrace = 3 * time.Second

// endOfWaits returns a channel that is closed when the final reads must stop waiting: when their own context has ended,
// or finalGrace after runCtx has ended.
func endOfWaits(final, runCtx context.Context) <-chan struct{} {
	ctx, cancel := context.WithCancel(final)
	context.AfterFunc(runCtx, func() { time.AfterFunc(finalGrace, cancel) })
	return ctx.Done()
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
			Elapsed: r.clock.Now() - start, OK: n[OK], Fail: n[Fail], Info: n[Info], Violations: r.watch.count.Load(),
			Fault: r.inForce.names(),
		})
	}
}
