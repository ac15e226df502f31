package granttest

import (
	"context"
	"reflect"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file puts a guard between clients and the algorithm under test. Optional methods of an algorithm show in its type,
// so each combination of them has a type of its own.

// guardedLock is a Locker under guard.
type guardedLock struct {
	*seat
	lock Locker
}

func (l *guardedLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	ctx, leave := l.enter(ctx, "Acquire", key)
	defer leave()
	return l.lock.Acquire(ctx, key, owner, ttl)
}

func (l *guardedLock) Release(ctx context.Context, key, owner string) (bool, error) {
	ctx, leave := l.enter(ctx, "Release", key)
	defer leave()
	return l.lock.Release(ctx, key, owner)
}

func (l *guardedLock) extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	ctx, leave := l.enter(ctx, "Extend", key)
	defer leave()
	return l.lock.(Extender).Extend(ctx, key, owner, ttl)
}

func (l *guardedLock) fence() string {
	_, leave := l.enter(context.Background(), "Fence", "")
	defer leave()
	return l.lock.(Fencer).Fence()
}

type (
	guardedExtender struct{ *guardedLock }
	guardedFencer   struct{ *guardedLock }
	guardedBoth     struct{ *guardedLock }
)

func (l guardedExtender) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.extend(ctx, key, owner, ttl)
}

func (l guardedFencer) Fence() string { return l.fence() }

func (l guardedBoth) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.extend(ctx, key, owner, ttl)
}

func (l guardedBoth) Fence() string { return l.fence() }

// guardLock puts a lock under guard.
func guardLock(s *seat, lock Locker) Locker {
	l := &guardedLock{s, lock}
	_, extends := lock.(Extender)
	_, fences := lock.(Fencer)
	switch {
	case extends && fences:
		return guardedBoth{l}
	case extends:
		return guardedExtender{l}
	case fences:
		return guardedFencer{l}
	}
	return l
}

// guardedFilter is a Deduper under guard.
type guardedFilter struct {
	*seat
	filter Deduper
}

func (f *guardedFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	ctx, leave := f.enter(ctx, "First", id)
	defer leave()
	return f.filter.First(ctx, id, window)
}

func (f *guardedFilter) inspect(ctx context.Context, id string) (marked bool, left time.Duration, err error) {
	ctx, leave := f.enter(ctx, "Inspect", id)
	defer leave()
	return f.filter.(Inspector).Inspect(ctx, id)
}

type (
	guardedConfirmer        struct{ *guardedFilter }
	guardedInspector        struct{ *guardedFilter }
	guardedConfirmInspector struct{ guardedConfirmer }
)

func (f guardedInspector) Inspect(ctx context.Context, id string) (marked bool, left time.Duration, err error) {
	return f.inspect(ctx, id)
}

func (f guardedConfirmInspector) Inspect(ctx context.Context, id string) (marked bool, left time.Duration, err error) {
	return f.inspect(ctx, id)
}

func (f guardedConfirmer) Lease(window time.Duration) time.Duration {
	_, leave := f.enter(context.Background(), "Lease", "")
	defer leave()
	return f.filter.(Confirmer).Lease(window)
}

func (f guardedConfirmer) Confirm(ctx context.Context, id string, window time.Duration) (bool, error) {
	ctx, leave := f.enter(ctx, "Confirm", id)
	defer leave()
	return f.filter.(Confirmer).Confirm(ctx, id, window)
}

// guardFilter puts a filter under guard.
func guardFilter(s *seat, filter Deduper) Deduper {
	f := &guardedFilter{s, filter}
	_, confirms := filter.(Confirmer)
	_, inspects := filter.(Inspector)
	switch {
	case confirms && inspects:
		return guardedConfirmInspector{guardedConfirmer{f}}
	case confirms:
		return guardedConfirmer{f}
	case inspects:
		return guardedInspector{f}
	}
	return f
}

// guardedSequence is a Sequencer under guard.
type guardedSequence struct {
	*seat
	generator Sequencer
}

func (q *guardedSequence) Next(ctx context.Context, key, proposed string) (string, error) {
	ctx, leave := q.enter(ctx, "Next", key)
	defer leave()
	return q.generator.Next(ctx, key, proposed)
}

// guardSequence puts a generator under guard.
func guardSequence(s *seat, generator Sequencer) Sequencer { return &guardedSequence{s, generator} }

// isNil reports whether v is nil, or a nil pointer, map, slice, function or channel in an interface.
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

// guardedWorkload leaves the final reads out when the code under test has failed: they would run it again.
type guardedWorkload struct {
	harness.Workload
	guard *guard
}

func (w guardedWorkload) Situations() []harness.SituationName {
	if p, ok := w.Workload.(harness.SituationPromiser); ok {
		return p.Situations()
	}
	return nil
}

func (w guardedWorkload) Finish(ctx context.Context, s *harness.Session) error {
	if f, ok := w.Workload.(harness.Finisher); ok && w.guard.failure() == "" {
		return f.Finish(ctx, s)
	}
	return nil
}
