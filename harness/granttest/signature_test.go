package granttest

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Locks and filters with an unusual or wrong method that has the name of an optional one.
type (
	bareLock       struct{}
	renamedTime    time.Duration
	fullLock       struct{ bareLock }
	errorOnly      struct{ bareLock }
	constFence     struct{ bareLock }
	bareExtend     struct{ bareLock }
	variadic       struct{ bareLock }
	otherTime      struct{ bareLock }
	byPointer      struct{ bareLock }
	ofLibrary      struct{ bareExtend } // promoted from what it embeds
	ofInterface    struct{ libraryLock }
	libraryLock    interface{ Extend() (bool, error) }
	hidden         struct{ Locker }
	generic[K any] struct{ bareLock }
	fieldExtend    struct {
		bareLock
		Extend func(context.Context, string, string, time.Duration) (bool, error)
	}
	helpers struct {
		bareLock
		Fence func(int) // a hook of its own
	}
	oddLease struct{ bareLock }

	bareFilter   struct{}
	fullFilter   struct{ bareFilter }
	bareLease    struct{ fullFilter }
	noLease      struct{ bareFilter }
	leaseAlone   struct{ bareFilter }
	inspectOnly  struct{ bareFilter }
	inspectShort struct{ bareFilter }
)

func (bareLock) Acquire(context.Context, string, string, time.Duration) (bool, error) {
	return true, nil
}
func (bareLock) Release(context.Context, string, string) (bool, error) { return true, nil }
func (bareLock) ExtendAll(context.Context) error                       { return nil }
func (bareLock) Extends() bool                                         { return false }
func (bareLock) FenceKey(key string) string                            { return key + ":fence" }

func (fullLock) Extend(_ context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return true, nil
}
func (fullLock) Fence() string                                                { return "1" }
func (errorOnly) Extend(context.Context, string, string, time.Duration) error { return nil }
func (constFence) Fence() int64                                               { return 7 }
func (bareExtend) Extend() (bool, error)                                      { return true, nil }
func (variadic) Extend(_ context.Context, _, _ string, _ ...time.Duration) (bool, error) {
	return true, nil
}
func (otherTime) Extend(_ context.Context, _, _ string, _ renamedTime) (bool, error) {
	return true, nil
}
func (*byPointer) Fence() string { return "1" }
func (ofInterface) Acquire(context.Context, string, string, time.Duration) (bool, error) {
	return true, nil
}
func (ofInterface) Release(context.Context, string, string) (bool, error)         { return true, nil }
func (generic[K]) Extend(context.Context, K, string, time.Duration) (bool, error) { return true, nil }
func (oddLease) Lease() time.Duration                                             { return time.Second }
func (oddLease) Inspect(context.Context) error                                    { return nil }

func (bareFilter) First(context.Context, string, time.Duration) (bool, error)    { return true, nil }
func (bareFilter) Release(context.Context, string) error                         { return nil }
func (fullFilter) Confirm(context.Context, string, time.Duration) (bool, error)  { return true, nil }
func (fullFilter) Lease(time.Duration) time.Duration                             { return time.Second }
func (fullFilter) Inspect(context.Context, string) (bool, time.Duration, error)  { return true, 0, nil }
func (bareLease) Lease() time.Duration                                           { return time.Second }
func (noLease) Confirm(context.Context, string, time.Duration) (bool, error)     { return true, nil }
func (leaseAlone) Lease(time.Duration) time.Duration                             { return time.Second }
func (inspectOnly) Inspect(context.Context, string) (bool, time.Duration, error) { return true, 0, nil }
func (inspectShort) Inspect(context.Context, string) (bool, error)               { return true, nil }

const (
	rightExtend  = "Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error)"
	rightLease   = "Lease(window time.Duration) time.Duration"
	rightInspect = "Inspect(ctx context.Context, id string) (bool, time.Duration, error)"
)

func TestMethodsThatWouldNotBeTried(t *testing.T) {
	for _, c := range []struct {
		kind kind
		of   reflect.Type
		want string // after the name of the type; empty: nothing is untried
	}{
		{lockKind, reflect.TypeFor[bareLock](), ""},
		{lockKind, reflect.TypeFor[*fullLock](), ""},
		{lockKind, reflect.TypeFor[fullLock](), ""},
		{lockKind, reflect.TypeFor[struct{ *fullLock }](), ""},
		{lockKind, reflect.TypeFor[generic[string]](), ""},
		{lockKind, reflect.TypeFor[hidden](), ""},
		{lockKind, reflect.TypeFor[*byPointer](), ""},
		{lockKind, reflect.TypeFor[helpers](), ""},
		{lockKind, reflect.TypeFor[oddLease](), ""},
		{lockKind, reflect.TypeFor[Locker](), ""},
		{lockKind, reflect.TypeFor[Extender](), ""},
		{lockKind, reflect.TypeFor[redis.UniversalClient](), ""}, // many methods, none by one of the names
		{lockKind, reflect.TypeFor[*errorOnly](),
			"Extend(context.Context, string, string, time.Duration) error, which cannot be tested: it has to be " +
				rightExtend},
		{lockKind, reflect.TypeFor[constFence](), "Fence() int64, which cannot be tested: it has to be Fence() string"},
		{lockKind, reflect.TypeFor[*ofLibrary](),
			"Extend() (bool, error), which cannot be tested: it has to be " + rightExtend},
		{lockKind, reflect.TypeFor[ofInterface](),
			"Extend() (bool, error), which cannot be tested: it has to be " + rightExtend},
		{lockKind, reflect.TypeFor[libraryLock](),
			"Extend() (bool, error), which cannot be tested: it has to be " + rightExtend},
		{lockKind, reflect.TypeFor[variadic](),
			"Extend(context.Context, string, string, ...time.Duration) (bool, error), which cannot be tested: it has " +
				"to be " + rightExtend},
		{lockKind, reflect.TypeFor[otherTime](),
			"Extend(context.Context, string, string, granttest.renamedTime) (bool, error), which cannot be tested: " +
				"it " +
				"has to be " + rightExtend},
		{lockKind, reflect.TypeFor[generic[int]](),
			"Extend(context.Context, int, string, time.Duration) (bool, error), which cannot be tested: it has to be " +
				rightExtend},
		{lockKind, reflect.TypeFor[byPointer](),
			"Fence with a pointer receiver, but the constructor returns no pointer, so it cannot be tested: let it " +
				"return a *granttest.byPointer"},
		{lockKind, reflect.TypeFor[*fieldExtend](),
			"Extend as a field, which cannot be tested: it has to be a method, " + rightExtend},
		{dedupKind, reflect.TypeFor[bareFilter](), ""},
		{dedupKind, reflect.TypeFor[fullFilter](), ""},
		{dedupKind, reflect.TypeFor[inspectOnly](), ""},
		{dedupKind, reflect.TypeFor[bareLease](),
			"Lease() time.Duration, which cannot be tested: it has to be " + rightLease},
		{dedupKind, reflect.TypeFor[noLease](),
			"Confirm but no Lease, and one cannot be tested without the other: add " + rightLease},
		{dedupKind, reflect.TypeFor[leaseAlone](),
			"Lease but no Confirm, and one cannot be tested without the other: add " +
				"Confirm(ctx context.Context, id string, window time.Duration) (bool, error)"},
		{dedupKind, reflect.TypeFor[inspectShort](),
			"Inspect(context.Context, string) (bool, error), which cannot be tested: it has to be " + rightInspect},
		{sequenceKind, reflect.TypeFor[*errorOnly](), ""},
	} {
		lines := untried(c.kind, c.of)
		if c.want == "" {
			require.Empty(t, lines, "%v", c.of)
			continue
		}
		require.Len(t, lines, 1, "%v", c.of)
		require.Regexp(t, `^granttest\.\S+ has `, lines[0])
		require.Contains(t, lines[0], " has "+c.want)
	}
}

// The list of optional methods agrees with the interfaces that clients use.
func TestOptionalMethodsAreThoseOfTheInterfaces(t *testing.T) {
	for k, all := range map[kind][]reflect.Type{
		lockKind:  {reflect.TypeFor[Extender](), reflect.TypeFor[Fencer]()},
		dedupKind: {reflect.TypeFor[Confirmer](), reflect.TypeFor[Inspector]()},
	} {
		methods := 0
		for _, typ := range all {
			methods += typ.NumMethod() - len(required[k])
			for _, o := range optionals[k] {
				if m, ok := typ.MethodByName(o.name); ok {
					require.Equal(t, m.Type, o.in.Method(0).Type)
				}
			}
		}
		require.Len(t, optionals[k], methods)
	}
}
