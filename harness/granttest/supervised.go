package granttest

import (
	"context"
	"reflect"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file puts a supervisor between clients and the algorithm under test. Clients detect optional methods by the
// type, so each combination of methods has its own type.

// supervisedLock is a Locker under supervision.
type supervisedLock struct {
	*caller
	lock Locker
}

func (l *supervisedLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	ctx, leave := l.enter(ctx, "Acquire", key)
	defer leave()
	return l.lock.Acquire(ctx, key, owner, ttl)
}

func (l *supervisedLock) Release(ctx context.Context, key, owner string) (bool, error) {
	ctx, leave := l.enter(ctx, "Release", key)
	defer leave()
	return l.lock.Release(ctx, key, owner)
}

func (l *supervisedLock) extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	ctx, leave := l.enter(ctx, "Extend", key)
	defer leave()
	return l.lock.(Extender).Extend(ctx, key, owner, ttl)
}

func (l *supervisedLock) fence() string {
	_, leave := l.enter(context.Background(), "Fence", "")
	defer leave()
	return l.lock.(Fencer).Fence()
}

type (
	supervisedExtender struct{ *supervisedLock }
	supervisedFencer   struct{ *supervisedLock }
	supervisedBoth     struct{ *supervisedLock }
)

func (l supervisedExtender) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.extend(ctx, key, owner, ttl)
}

func (l supervisedFencer) Fence() string { return l.fence() }

func (l supervisedBoth) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.extend(ctx, key, owner, ttl)
}

func (l supervisedBoth) Fence() string { return l.fence() }

// superviseLock puts a lock under supervision.
func superviseLock(s *caller, lock Locker) Locker {
	l := &supervisedLock{s, lock}
	_, extends := lock.(Extender)
	_, fences := lock.(Fencer)
	switch {
	case extends && fences:
		return supervisedBoth{l}
	case extends:
		return supervisedExtender{l}
	case fences:
		return supervisedFencer{l}
	}
	return l
}

// supervisedFilter is a Deduper under supervision.
type supervisedFilter struct {
	*caller
	filter Deduper
}

func (f *supervisedFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	ctx, leave := f.enter(ctx, "First", id)
	defer leave()
	return f.filter.First(ctx, id, window)
}

func (f *supervisedFilter) inspect(ctx context.Context, id string) (marked bool, left time.Duration, err error) {
	ctx, leave := f.enter(ctx, "Inspect", id)
	defer leave()
	return f.filter.(Inspector).Inspect(ctx, id)
}

type (
	supervisedConfirmer        struct{ *supervisedFilter }
	supervisedInspector        struct{ *supervisedFilter }
	supervisedConfirmInspector struct{ supervisedConfirmer }
)

func (f supervisedInspector) Inspect(ctx context.Context, id string) (marked bool, left time.Duration, err error) {
	return f.inspect(ctx, id)
}

func (f supervisedConfirmInspector) Inspect(ctx context.Context, id string) (marked bool, left time.Duration,
	err error) {
	return f.inspect(ctx, id)
}

func (f supervisedConfirmer) Lease(window time.Duration) time.Duration {
	_, leave := f.enter(context.Background(), "Lease", "")
	defer leave()
	return f.filter.(Confirmer).Lease(window)
}

func (f supervisedConfirmer) Confirm(ctx context.Context, id string, window time.Duration) (bool, error) {
	ctx, leave := f.enter(ctx, "Confirm", id)
	defer leave()
	return f.filter.(Confirmer).Confirm(ctx, id, window)
}

// superviseFilter puts a filter under supervision.
func superviseFilter(s *caller, filter Deduper) Deduper {
	f := &supervisedFilter{s, filter}
	_, confirms := filter.(Confirmer)
	_, inspects := filter.(Inspector)
	switch {
	case confirms && inspects:
		return supervisedConfirmInspector{supervisedConfirmer{f}}
	case confirms:
		return supervisedConfirmer{f}
	case inspects:
		return supervisedInspector{f}
	}
	return f
}

// supervisedSequence is a Sequencer under supervision.
type supervisedSequence struct {
	*caller
	generator Sequencer
}

func (q *supervisedSequence) Next(ctx context.Context, key, proposed string) (string, error) {
	ctx, leave := q.enter(ctx, "Next", key)
	defer leave()
	return q.generator.Next(ctx, key, proposed)
}

// superviseSequence puts a generator under supervision.
func superviseSequence(s *caller, generator Sequencer) Sequencer {
	return &supervisedSequence{s, generator}
}

// isNil reports whether v is nil, or holds a nil pointer, map, slice, function, channel or interface.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.Interface:
		return r.IsNil()
	default:
		return false
	}
}

// supervisedWorkload skips the final reads after the code under test has failed, since they would run it again.
type supervisedWorkload struct {
	harness.Workload
	supervisor *supervisor
}

func (w supervisedWorkload) Situations() []harness.SituationName {
	if p, ok := w.Workload.(harness.SituationPromiser); ok {
		return p.Situations()
	}
	return nil
}

func (w supervisedWorkload) Finish(ctx context.Context, s *harness.Session) error {
	if f, ok := w.Workload.(harness.Finisher); ok && w.supervisor.failure() == "" {
		return f.Finish(ctx, s)
	}
	return nil
}
