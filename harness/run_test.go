package harness_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// fake is a system, a workload and a nemesis in one: a counter that can be broken.
type fake struct {
	startErr, wholeErr error
	started, stopped   bool
	broken             atomic.Bool
	healed             atomic.Int32
	n                  atomic.Int64
	steps              sync.Map // worker's first random number -> true
	panics             bool
}

func (f *fake) Start(_ context.Context, clock harness.Clock, events func(harness.Event), _ *slog.Logger) error {
	f.started = true
	events(harness.Event{At: clock.Now(), Node: "fake", Kind: "role", Detail: "master"})
	return f.startErr
}
func (f *fake) AwaitWhole(context.Context) error { return f.wholeErr }
func (f *fake) Stop() error                      { f.stopped = true; return nil }
func (f *fake) Groups() int                      { return 2 }

func (f *fake) Name() string          { return "fake" }
func (f *fake) Kinds() []harness.Kind { return []harness.Kind{harness.Next} }
func (f *fake) Open(context.Context, int) (harness.Client, error) {
	return &fakeClient{fake: f}, nil
}

type fakeClient struct {
	*fake
	began bool
}

func (c *fakeClient) Step(_ context.Context, s *harness.Session) {
	if c.panics {
		panic("a client's bug")
	}
	if !c.began {
		c.steps.Store(fmt.Sprint(s.Client(), s.Rand.Uint64()), true)
		c.began = true
	}
	s.Invoke(harness.Op{Kind: harness.Next}, func(op *harness.Op) {
		if !c.broken.Load() {
			op.Outcome, op.Result = harness.OK, fmt.Sprint(c.n.Add(1))
		}
	})
	s.Sleep(time.Millisecond)
}

// stepping is a workload made of a function, which all clients run.
type stepping struct {
	*fake
	step func(context.Context, *harness.Session)
}

func (w stepping) Open(context.Context, int) (harness.Client, error) { return w, nil }
func (w stepping) Step(ctx context.Context, s *harness.Session)      { w.step(ctx, s) }

// breaker is a nemesis for a fake.
type breaker struct {
	*fake
	injectErr error
	prove     func() error // default: the effect is seen
}

func (b breaker) Name() string { return "breaker" }
func (b breaker) Inject(context.Context, *rand.Rand) (harness.Injection, error) {
	b.broken.Store(true)
	return harness.Injection{
		Targets: []string{"fake"}, Bite: "broken",
		Prove: func(context.Context) (string, error) {
			if b.prove != nil {
				return "", b.prove()
			}
			return "seen", nil
		},
		Heal: func(ctx context.Context) error {
			b.broken.Store(false)
			b.healed.Add(1)
			return ctx.Err()
		},
	}, b.injectErr
}

// counter counts operations by outcome, and its verdict is valid.
type counter struct{ n [3]int }

func (*counter) Name() string { return "counter" }
func (c *counter) Check(_ context.Context, h harness.History, _ func(harness.Anomaly)) harness.Judgement {
	for op, err := range h.Ops {
		if err != nil {
			return harness.Judgement{Reason: err.Error()}
		}
		c.n[op.Outcome]++
	}
	return harness.Judgement{Verdict: harness.Valid}
}

func spec(f *fake, c harness.Checker) harness.Spec {
	return harness.Spec{
		System: f, Workload: f, Checkers: []harness.Checker{c},
		Clients: 4, Duration: 60 * time.Millisecond, QuietPeriod: 20 * time.Millisecond, Seed: 42,
	}
}

// ran runs a spec that must run without an error.
func ran(t *testing.T, s harness.Spec) harness.Result {
	t.Helper()
	res, err := harness.Run(t.Context(), s)
	require.NoError(t, err)
	return res
}

func TestRunRecordsJudgesAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := &fake{}, &counter{}
		res := ran(t, spec(f, c))
		require.Equal(t, harness.Valid, res.Verdict)
		require.Positive(t, c.n[harness.OK])
		require.True(t, f.stopped)
		require.Equal(t, 4, res.Meta.Workers)
		require.EqualValues(t, 42, res.Meta.Seed)
		require.NotNil(t, res.History.End)
		require.Empty(t, res.History.End.Reason)
		require.Len(t, res.History.Events, 1)
		for op := range res.History.Ops {
			require.Zero(t, op.Due, "in a closed loop")
		}
	})
}

func TestTheSameSeedMakesTheSameChoices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		choices := func(seed uint64) (clients map[any]any, faults [2]uint64) {
			f := &fake{}
			s := spec(f, &counter{})
			s.Seed = seed
			for i := range faults {
				s.Tracks = append(s.Tracks, []harness.TimedFault{{Nemesis: strike{"roll",
					func(_ context.Context, rng *rand.Rand) (harness.Injection, error) {
						faults[i] = rng.Uint64()
						return harness.Injection{}, nil
					}}}})
			}
			ran(t, s)
			clients = map[any]any{}
			f.steps.Range(func(k, v any) bool { clients[k] = v; return true })
			return clients, faults
		}
		a, na := choices(1)
		b, nb := choices(1)
		c, nc := choices(2)
		require.Len(t, a, 4)
		require.NotEqual(t, na[0], na[1], "each sequence has its own")
		require.Equal(t, a, b)
		require.Equal(t, na, nb)
		require.NotEqual(t, a, c)
		require.NotEqual(t, na, nc)
	})
}

func TestAFaultIsRecordedProvedAndHealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := &fake{}, &counter{}
		s := spec(f, c)
		s.Faults = []harness.TimedFault{
			{Nemesis: breaker{fake: f}, For: 30 * time.Millisecond},
			{Nemesis: breaker{fake: f, prove: func() error { return errors.New("nothing happened") }}},
		}
		res := ran(t, s)
		require.Len(t, res.History.Faults, 2)
		one, two := res.History.Faults[0], res.History.Faults[1]
		require.True(t, one.Proved)
		require.False(t, two.Proved, "it had no effect")
		require.Contains(t, two.Proof, "nothing happened")
		require.Equal(t, "broken; seen", one.Proof)
		require.GreaterOrEqual(t, one.Heal-one.Active, 30*time.Millisecond)
		require.GreaterOrEqual(t, one.End, one.Heal)
		require.EqualValues(t, 2, f.healed.Load())
		require.Positive(t, c.n[harness.Info], "operations during the fault")
		require.GreaterOrEqual(t, two.Start-one.End, 20*time.Millisecond, "calm between faults")
	})
}

func TestEveryWayOutHealsStopsAndKeepsTheHistory(t *testing.T) {
	cases := map[string]struct {
		arrange func(*fake, *harness.Spec)
		want    string
	}{
		"the system does not start": {func(f *fake, _ *harness.Spec) { f.startErr = errors.New("no luck") }, "no luck"},
		"a fault cannot be injected": {func(f *fake, s *harness.Spec) {
			s.Faults = []harness.TimedFault{{Nemesis: breaker{fake: f, injectErr: errors.New("cannot reach it")}}}
		}, "cannot reach it"},
		"the system stays broken": {func(f *fake, s *harness.Spec) {
			f.wholeErr = errors.New("two primaries")
			s.Faults = []harness.TimedFault{{Nemesis: breaker{fake: f}}}
		}, "two primaries"},
		"a nemesis panics": {func(f *fake, s *harness.Spec) {
			s.Faults = []harness.TimedFault{{Nemesis: breaker{fake: f,
				prove: func() error { panic("a nemesis's bug") }}, For: time.Second}}
		}, "a nemesis's bug"},
		"a client panics":   {func(f *fake, _ *harness.Spec) { f.panics = true }, "a client's bug"},
		"the store is full": {func(_ *fake, s *harness.Spec) { s.Store = fullStore{harness.NewMemory()} }, "disk full"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				s := spec(f, &counter{})
				c.arrange(f, &s)
				res, err := harness.Run(t.Context(), s)
				require.ErrorContains(t, err, c.want)
				require.True(t, f.stopped)
				require.False(t, f.broken.Load(), "the fault is still there")
				require.NotNil(t, res.History.End)
				require.Contains(t, res.History.End.Reason, c.want)
			})
		})
	}
}

type fullStore struct{ harness.Store }

func (fullStore) WriteOps([]harness.Op) error { return errors.New("disk full") }

func TestSpecsThatCannotBeRunAreRefused(t *testing.T) {
	for name, arrange := range map[string]func(*harness.Spec){
		"System is nil":     func(s *harness.Spec) { s.System = nil },
		"Workload is nil":   func(s *harness.Spec) { s.Workload = nil },
		"Checkers is empty": func(s *harness.Spec) { s.Checkers = nil },
		"be finite numbers": func(s *harness.Spec) { s.Rate = math.NaN() },
		"negative":          func(s *harness.Spec) { s.Clients = -1 },
		"Final":             func(s *harness.Spec) { s.FinalTimeout = -1 },
		"StopOnFirst":       func(s *harness.Spec) { s.StopOnFirst = true },
		"OpenLoop needs":    func(s *harness.Spec) { s.OpenLoop = true },
	} {
		f := &fake{}
		s := spec(f, &counter{})
		arrange(&s)
		_, err := harness.Run(t.Context(), s)
		require.ErrorIs(t, err, harness.ErrSpec, name)
		require.ErrorContains(t, err, name)
		require.False(t, f.started)
	}
}

// testTB records what Test does to a test.
type testTB struct {
	ctx    context.Context
	errors []string
	fatal  []string
}

func (t *testTB) Helper()                      {}
func (t *testTB) Context() context.Context     { return t.ctx }
func (t *testTB) Logf(string, ...any)          {}
func (t *testTB) Errorf(f string, args ...any) { t.errors = append(t.errors, fmt.Sprintf(f, args...)) }
func (t *testTB) Fatalf(f string, args ...any) { t.fatal = append(t.fatal, fmt.Sprintf(f, args...)) }

func TestTestFailsUnlessValid(t *testing.T) {
	tb := &testTB{ctx: t.Context()}
	harness.Test(tb, spec(&fake{}, &counter{}))
	require.Empty(t, tb.errors)
	harness.Test(tb, spec(&fake{}, verdict(harness.Unknown)))
	require.Len(t, tb.errors, 1)
	harness.Test(tb, spec(&fake{}, verdict(harness.Invalid)))
	require.Len(t, tb.errors, 2)
	harness.Test(tb, spec(&fake{startErr: errors.New("no luck")}, &counter{}))
	require.Len(t, tb.fatal, 1)
}
