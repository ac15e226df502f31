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

type (
	supervisedExtender struct{ *supervisedLock }
	supervisedFencer   struct {
		*supervisedLock
		fencing
	}
	supervisedBoth struct {
		supervisedExtender
		fencing
	}
)

func (l supervisedExtender) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	ctx, leave := l.enter(ctx, "Extend", key)
	defer leave()
	return l.lock.(Extender).Extend(ctx, key, owner, ttl)
}

// fencing adds the optional method Fence to a supervisedLock.
type fencing struct{ of *supervisedLock }

func (f fencing) Fence() string {
	_, leave := f.of.enter(context.Background(), "Fence", "")
	defer leave()
	return f.of.lock.(Fencer).Fence()
}

func superviseLock(s *caller, lock Locker) Locker {
	l := &supervisedLock{s, lock}
	_, extends := lock.(Extender)
	_, fences := lock.(Fencer)
	switch {
	case extends && fences:
		return supervisedBoth{supervisedExtender{l}, fencing{l}}
	case extends:
		return supervisedExtender{l}
	case fences:
		return supervisedFencer{l, fencing{l}}
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

type (
	supervisedConfirmer struct{ *supervisedFilter }
	supervisedInspector struct {
		*supervisedFilter
		inspecting
	}
	supervisedConfirmInspector struct {
		supervisedConfirmer
		inspecting
	}
)

// inspecting adds the optional method Inspect to a supervisedFilter.
type inspecting struct{ of *supervisedFilter }

func (i inspecting) Inspect(ctx context.Context, id string) (marked bool, left time.Duration, err error) {
	ctx, leave := i.of.enter(ctx, "Inspect", id)
	defer leave()
	return i.of.filter.(Inspector).Inspect(ctx, id)
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

func superviseFilter(s *caller, filter Deduper) Deduper {
	f := &supervisedFilter{s, filter}
	_, confirms := filter.(Confirmer)
	_, inspects := filter.(Inspector)
	switch {
	case confirms && inspects:
		return supervisedConfirmInspector{supervisedConfirmer{f}, inspecting{f}}
	case confirms:
		return supervisedConfirmer{f}
	case inspects:
		return supervisedInspector{f, inspecting{f}}
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

// isNil reports whether v is nil, or holds a nil pointer, map, slice, function, channel or interface.
func isNil(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return r.IsNil()
	}
	return false
}

// supervisedWorkload leaves out the final reads once the code under test has failed, since a final read would call that
// code again.
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
