package harness

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// stopGrace bounds everything that a run does after its context has ended: heals, final reads, shutting down.
const stopGrace = 30 * time.Second

// Result is what a run found.
type Result struct {
	Meta    Meta
	History History
	Judged
}

// Run races spec's clients on spec's system, injects spec's faults and judges the history.
//
// The error says that the harness or its environment failed, never that the system under test is wrong: that is the
// Verdict's part. When ctx ends early the load stops, faults heal, and what was recorded is judged; the history then
// carries the reason, and cannot be Valid. A Result beside an error holds whatever was recorded.
func Run(ctx context.Context, spec Spec) (Result, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return Result{}, err
	}
	r := &run{Spec: spec, clock: NewClock(), stop: make(chan struct{})}
	runErr := r.record(ctx)
	res := Result{Meta: r.meta}
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
	clock    Clock
	meta     Meta
	rec      *recorder
	abort    context.CancelCauseFunc
	stop     chan struct{} // closed when the load ends
	fault    atomic.Pointer[string]
	failed   atomic.Pointer[error] // the first client that panicked
	sessions []*Session
}

// record does everything up to the closed store.
func (r *run) record(parent context.Context) (err error) {
	ctx, abort := context.WithCancelCause(parent)
	defer abort(nil)
	r.abort, r.meta = abort, r.Spec.meta(r.clock)
	if err := r.Store.WriteMeta(r.meta); err != nil {
		return errors.Join(fmt.Errorf("harness: write the history: %w", err), r.Store.Close())
	}
	r.rec = newRecorder(r.clock, r.meta.Workers+1, r.Store, func(err error) {
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
	}
	return errors.Join(r.Store.WriteEnd(end), r.Store.Close())
}

// onSystem starts the system, loads it and stops it. Every operation is in the store when it returns.
func (r *run) onSystem(ctx context.Context) (err error) {
	writing, written := context.WithCancel(context.WithoutCancel(ctx))
	var writer sync.WaitGroup
	writer.Go(func() { r.rec.run(writing) })
	defer writer.Wait()
	defer written()
	defer func() { err = errors.Join(err, r.System.Stop()) }()
	if err := r.System.Start(ctx, r.clock, r.rec.event, r.Log); err != nil {
		return err
	}
	var clients []Client
	if err := guarded("a workload's Open", func() (err error) { clients, err = r.open(ctx); return err }); err != nil {
		return err
	}
	if err := r.load(ctx, clients); err != nil {
		return err
	}
	return guarded("a workload's Finish", func() error { return r.finish(ctx) })
}

// open makes every client and its session.
func (r *run) open(ctx context.Context) ([]Client, error) {
	var clients []Client
	for _, l := range r.loads() {
		for range l.Clients {
			w := len(clients)
			c, err := l.Workload.Open(ctx, r.meta.Group(w))
			if err != nil {
				return nil, fmt.Errorf("harness: open client %d of %s: %w", w, l.Workload.Name(), err)
			}
			clients = append(clients, c)
			r.sessions = append(r.sessions, r.session(w, stream(r.Seed, uint64(w)), r.stop))
		}
	}
	return clients, nil
}

// load runs the clients and the nemeses until both have had their time, or ctx ends.
func (r *run) load(ctx context.Context, clients []Client) error {
	var workers sync.WaitGroup
	opCtx, abandon := context.WithCancel(context.WithoutCancel(ctx)) // operations end by themselves, not in the middle
	defer abandon()
	for w, c := range clients {
		workers.Go(func() { r.work(opCtx, c, r.sessions[w]) })
	}
	var reporting sync.WaitGroup
	reporting.Go(r.report)
	err := guarded("a nemesis", func() error { return r.schedule(ctx) })
	close(r.stop)
	grace := time.AfterFunc(stopGrace, abandon)
	defer grace.Stop()
	workers.Wait()
	reporting.Wait()
	return err
}

// work steps one client until the load ends.
func (r *run) work(ctx context.Context, c Client, s *Session) {
	think := time.Duration(0)
	if r.Rate > 0 {
		think = time.Duration(float64(r.meta.Workers) / r.Rate * float64(time.Second))
	}
	err := guarded(fmt.Sprintf("client %d", s.id), func() error {
		for s.Sleep(time.Duration(s.Rand.Float64() * 2 * float64(think))) {
			c.Step(ctx, s)
		}
		return nil
	})
	if err != nil {
		r.failed.CompareAndSwap(nil, &err)
		r.abort(err)
	}
}

// guarded turns a panic of f, which runs somebody's code, into an error: the run still ends in good order.
func guarded(whose string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("harness: %s panicked: %v\n%s", whose, p, debug.Stack())
		}
	}()
	return f()
}

// finish waits for the system to be whole and lets the workloads record what is left, such as a final read.
func (r *run) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	for i, l := range r.loads() {
		f, ok := l.Workload.(Finisher)
		if !ok {
			continue
		}
		if err := r.System.AwaitWhole(ctx); err != nil {
			return fmt.Errorf("harness: the system is not whole for the final read: %w", err)
		}
		s := r.session(r.meta.Workers, stream(r.Seed, finishStream+uint64(i)), nil)
		s.id = HarnessClient
		if err := f.Finish(ctx, s); err != nil {
			return fmt.Errorf("harness: finish %s: %w", l.Workload.Name(), err)
		}
	}
	return nil
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
		p := Progress{Elapsed: r.clock.Now() - start, OK: n[OK], Fail: n[Fail], Info: n[Info]}
		if f := r.fault.Load(); f != nil {
			p.Fault = *f
		}
		r.Progress(p)
	}
}
