package granttest

import (
	"cmp"
	"context"
	"reflect"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

// TB is the part of testing.TB that a test needs.
type TB interface {
	Helper()
	Name() string
	Context() context.Context
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Lock fails t unless the lock that newLock makes keeps its promise: no two owners at one time, no release of another
// owner's lock, and no lock that stays taken after every lease has ended.
//
// newLock is called once for each client. C is its parameter: redis.UniversalClient, *redis.Client, redis.Cmdable or
// any other interface that *redis.Client implements. At most one options value may follow.
func Lock[C any, L Locker](t TB, newLock func(C) L, o ...LockOptions) {
	t.Helper()
	opts := onlyOptions(t, o)
	s := subject{kind: lockKind, name: nameOf[L](lockKind), search: opts.Search, load: opts.Load}
	newLocker := supervisedMaker(t, &s, newLock, func(c *caller, l L) Locker { return superviseLock(c, l) })
	s.program = func(g *supervisor, p parameters) interleave.Program {
		made := workloads.LockProgram(workloads.Options{Name: s.name, TTL: cmp.Or(p.TTL, opts.TTL, searchLease),
			Habits: true, Goroutines: s.goroutines()}, newLocker(g))
		_, made.Fenced = newLocker(g)(nil).(Fencer)
		return made
	}
	s.workload = func(g *supervisor, c workloads.Connector) harness.Workload {
		return workloads.Locks(c, workloads.Options{
			Name: s.name, Keys: opts.Keys, TTL: opts.TTL, Hold: opts.Hold, Resource: opts.Resource,
		}, newLocker(g))
	}
	s.lease = cmp.Or(opts.TTL, lockLease)
	s.run(t)
}

// Dedup fails t unless the filter that newFilter makes keeps its promise: one worker delivers each message, and the
// message can be delivered again when its window is over.
//
// A filter that claims in one step loses a message whose worker crashes before the delivery. The search accepts that
// unless Search{Crashes: 1} asks for it. A [Confirmer] must lose no message.
//
// C and the options are as for [Lock].
func Dedup[C any, D Deduper](t TB, newFilter func(C) D, o ...DedupOptions) {
	t.Helper()
	opts := onlyOptions(t, o)
	s := subject{kind: dedupKind, name: nameOf[D](dedupKind), search: opts.Search, load: opts.Load}
	newDeduper := supervisedMaker(t, &s, newFilter, func(c *caller, d D) Deduper { return superviseFilter(c, d) })
	atMostOnce := opts.Search.Crashes == 0 && opts.Search.LostAnswers == 0
	s.program = func(g *supervisor, p parameters) interleave.Program {
		return workloads.DedupProgram(workloads.Options{
			Name: s.name, TTL: cmp.Or(p.TTL, opts.Window, searchWindow), AtMostOnce: atMostOnce, Habits: true,
			Goroutines: s.goroutines(),
		}, newDeduper(g))
	}
	window := cmp.Or(opts.Window, dedupWindow)
	s.workload = func(g *supervisor, c workloads.Connector) harness.Workload {
		return workloads.Dedups(c, workloads.Options{Name: s.name, TTL: window, FanOut: opts.FanOut},
			newDeduper(g))
	}
	s.lease = window
	s.run(t)
}

// Sequence fails t unless the generator that newGenerator makes keeps its promise: each number is drawn once, and is
// larger than every number drawn before the call.
//
// C and the options are as for [Lock].
func Sequence[C any, S Sequencer](t TB, newGenerator func(C) S, o ...SequenceOptions) {
	t.Helper()
	opts := onlyOptions(t, o)
	s := subject{kind: sequenceKind, name: nameOf[S](sequenceKind), search: opts.Search, load: opts.Load}
	newSequencer := supervisedMaker(t, &s, newGenerator,
		func(c *caller, q S) Sequencer { return &supervisedSequence{c, q} })
	if s.regimes = []Regime{opts.Regime}; opts.Regime == "" {
		s.regimes = workloads.Regimes()
	}
	s.program = func(g *supervisor, p parameters) interleave.Program {
		return workloads.SequenceProgram(workloads.Options{Name: s.name, Regime: p.Regime, Habits: !opts.OneKey,
			Goroutines: s.goroutines()}, newSequencer(g))
	}
	s.workload = func(g *supervisor, c workloads.Connector) harness.Workload {
		return workloads.Sequences(c, workloads.Options{
			Name: s.name, Keys: opts.Keys, Regime: opts.Regime, OneKey: opts.OneKey,
		}, newSequencer(g))
	}
	s.run(t)
}

// onlyOptions returns the options value; the zero value if there is none. It fails the test if there are several.
func onlyOptions[O any](t TB, o []O) (opts O) {
	t.Helper()
	switch len(o) {
	case 0:
	case 1:
		opts = o[0]
	default:
		t.Fatalf("granttest: %d options values: give at most one", len(o))
	}
	return opts
}

// supervisedMaker returns a function that makes the constructor for one search or load. That constructor calls newT,
// and wraps the value with the function supervise, so that the supervisor watches the value's calls. For a nil client
// it wraps a value that must not be called. The type of that value shows the algorithm's optional methods.
//
// supervisedMaker stores the type of newT's values in s. It fails the test if newT is nil or takes no *redis.Client, or
// if the values have a method that no client would call.
func supervisedMaker[C, T, G any](t TB, s *subject, newT func(C) T,
	supervise func(*caller, T) G) func(*supervisor) func(redis.UniversalClient) G {
	t.Helper()
	takes, of, ok := clientOf[C]()
	if !ok {
		t.Fatalf("granttest: the constructor takes a %v, but granttest passes a *redis.Client: let it take "+
			"redis.UniversalClient, redis.Cmdable or *redis.Client", takes)
	}
	if newT == nil {
		t.Fatalf("granttest: the constructor is nil")
	}
	shape := shapeOf(newT)
	s.shape, s.shared = typeOf(shape), isShared[C]()
	if why := s.unshareable(); why != "" {
		t.Fatalf("%s", why)
	}
	if lines := untried(s.kind, s.shape); len(lines) > 0 {
		t.Fatalf("%s", strings.Join(lines, "\n"))
	}
	return func(g *supervisor) func(redis.UniversalClient) G {
		return sharedInLoad(s, g, func(r redis.UniversalClient) G {
			if r == nil {
				return supervise(nil, shape)
			}
			g.addHook(r)
			made := construct(g, "the constructor", func() T { return newT(of(r)) })
			// if newT returns an interface, the type may only show now
			if lines := untried(s.kind, typeOf(made)); len(lines) > 0 {
				g.fail("%s", strings.Join(lines, "\n"))
			}
			if why := g.alreadyMade(s, r, made); why != "" {
				g.fail("%s", why)
			}
			return supervise(g.callerOf(r), made)
		})
	}
}

// shapeOf returns a value of the type that newT makes. Only the type of the value means something. If newT returns an
// interface, shapeOf calls newT with a client that has no server, to learn the dynamic type.
func shapeOf[C, T any](newT func(C) T) (shape T) {
	if reflect.TypeFor[T]().Kind() != reflect.Interface {
		return shape
	}
	made := make(chan T, 1)
	_ = run(callTime, func() { // if it does not return, neither does the first real value, which reports it
		made <- offlineShape(newT)
	})
	select {
	case shape = <-made:
	default:
	}
	return shape
}

// typeOf returns the dynamic type of v, or its static type if v is a nil interface.
func typeOf[T any](v T) reflect.Type {
	if typ := reflect.TypeOf(v); typ != nil {
		return typ
	}
	return reflect.TypeFor[T]()
}

// offlineShape returns newT's value for a client that has no server; the zero value if newT panics.
func offlineShape[C, T any](newT func(C) T) (shape T) {
	offline := redis.NewClient(&redis.Options{Dialer: noServer, MaxRetries: -1})
	defer func() { _ = offline.Close() }() // nothing was opened
	defer func() { _ = recover() }()       // the constructor needs a server: the first real value will show more
	_, of, _ := clientOf[C]()
	return newT(of(offline))
}

// nameOf returns the algorithm's name for messages and reports: the name of its type, or its kind if the type is an
// interface.
func nameOf[T any](k kind) string {
	if typ := reflect.TypeFor[T](); typ.Kind() != reflect.Interface {
		return strings.TrimLeft(typ.String(), "*")
	}
	return string(k)
}
