package harness_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// crew is a workload whose operations have two commands each, with checkpoints as real ones have.
type crew struct {
	*fake
	fleet  *harness.Fleet
	opened atomic.Int64 // calls of Open; the ninth fails
	bug    atomic.Bool  // members of a panicky crew's group 1 panic

	mu    sync.Mutex
	alive map[int]*crewman // by client
	clock map[int]time.Time
}

func newCrew() *crew {
	return &crew{fake: &fake{}, fleet: &harness.Fleet{}, alive: map[int]*crewman{}, clock: map[int]time.Time{}}
}

func (c *crew) Open(_ context.Context, group int) (harness.Client, error) {
	if c.opened.Add(1) == 9 {
		return nil, errors.New("the first restart fails")
	}
	return &crewman{crew: c, group: group}, nil
}

// shown returns what the clock of a group's client showed last.
func (c *crew) shown(group int) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock[group]
}

type crewman struct {
	*crew
	group int
	ids   []int // under which it has spoken
}

func (c *crewman) Step(ctx context.Context, s *harness.Session) {
	s.Invoke(harness.Op{Kind: harness.Next}, func(op *harness.Op) {
		c.mu.Lock()
		c.ids, c.clock[c.group] = append(c.ids, s.Client()), harness.Now(ctx)
		c.alive[s.Client()] = c
		c.mu.Unlock()
		sent := 0
		for range 2 {
			if err := harness.Checkpoint(ctx); err != nil {
				op.Err = "crashed"
				if sent == 0 {
					op.Outcome = harness.Fail
				}
				return
			}
			sent++ // it is executed from here on
			if err := harness.Checkpoint(ctx); err != nil {
				op.Err = "crashed"
				return
			}
		}
		op.Outcome, op.Result = harness.OK, fmt.Sprint(c.n.Add(1))
	})
	s.Sleep(time.Millisecond)
}

// spec has eight clients in two groups.
func (c *crew) spec() harness.Spec {
	s := spec(c.fake, &counter{})
	s.Workload, s.Fleet, s.Clients, s.Duration = c, c.fleet, 8, 20*time.Millisecond
	return s
}

// strike is a nemesis of a few lines.
type strike struct {
	name string
	do   func(ctx context.Context, rng *rand.Rand) (harness.Injection, error)
}

func (s strike) Name() string { return s.name }
func (s strike) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	return s.do(ctx, rng)
}

func opsOf(t *testing.T, h harness.History) (all []harness.Op) {
	t.Helper()
	for op, err := range h.Ops {
		require.NoError(t, err)
		all = append(all, op)
	}
	return all
}

func healing(f func()) func(context.Context) error {
	return func(context.Context) error { f(); return nil }
}

func await(ctx context.Context, seen func() bool) error {
	for !seen() {
		if err := ctx.Err(); err != nil {
			return err
		}
		time.Sleep(time.Millisecond) // between two looks at the condition
	}
	return nil
}

func TestAPausedGroupDoesNothingUntilItIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
		s := c.spec()
		var held int
		s.Faults = []harness.TimedFault{{For: 40 * time.Millisecond, Nemesis: strike{"freeze",
			func(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
				first, second := c.fleet.Pause(1), c.fleet.Pause(1)
				err := await(ctx, func() bool { return c.fleet.Standing(1) == 4 })
				first()
				first() // both of which end one pause
				held = c.fleet.Standing(1)
				heal := func(ctx context.Context) error {
					before := c.shown(1)
					second()
					return await(ctx, func() bool { return c.shown(1) != before })
				}
				return harness.Injection{Bite: "they stand", Frozen: []int{1}, Heal: heal}, err
			}}}}
		res, err := harness.Run(t.Context(), s)
		require.NoError(t, err)
		require.Equal(t, 4, held)
		require.Equal(t, []int{1}, res.History.Faults[0].Frozen)
		during := map[int]int{}
		f := res.History.Faults[0]
		for _, op := range opsOf(t, res.History) {
			if op.Call > f.Active && op.Return < f.Heal {
				during[res.Meta.Group(op.Client)]++
			}
		}
		require.Zero(t, during[1])
		require.Positive(t, during[0])
		require.Zero(t, c.fleet.Standing(1))
	})
}

func TestTheClockOfAGroupIsWrongUntilItHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
		s := c.spec()
		ahead := func(group int) time.Duration { return time.Until(c.shown(group)).Round(time.Hour) }
		s.Faults = []harness.TimedFault{{Nemesis: strike{"skew", func(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
			hour, day := c.fleet.Skew(0, time.Hour), c.fleet.Skew(0, 24*time.Hour)
			require.Equal(t, 25*time.Hour, c.fleet.Ahead(0))
			require.NoError(t, await(ctx, func() bool { return ahead(0) == 25*time.Hour }))
			day()
			day()
			require.NoError(t, await(ctx, func() bool { return ahead(0) == time.Hour }))
			require.NoError(t, await(ctx, func() bool { return ahead(1) == 0 }))
			heal := func(ctx context.Context) error {
				hour()
				return await(ctx, func() bool { return ahead(0) == 0 })
			}
			return harness.Injection{Bite: "an hour", Heal: heal}, nil
		}}}}
		_, err := harness.Run(t.Context(), s)
		require.NoError(t, err)
		require.Zero(t, c.fleet.Ahead(0))
	})
}

// A nemesis that panics returns no heal: whoever it has paused would stand for ever.
func TestWhatANemesisLeftPausedIsResumedWhenTheLoadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
		s := c.spec()
		s.Faults = []harness.TimedFault{{Nemesis: strike{"forgetful",
			func(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
				c.fleet.Pause(0)
				c.fleet.Skew(0, time.Hour)
				_ = await(ctx, func() bool { return c.fleet.Standing(0) == 4 })
				panic("a nemesis's bug")
			}}}}
		began := time.Now()
		res, err := harness.Run(t.Context(), s)
		require.ErrorContains(t, err, "a nemesis's bug")
		require.Less(t, time.Since(began), 10*time.Second)
		require.Zero(t, c.fleet.Standing(0))
		require.Zero(t, c.fleet.Ahead(0))
		require.Equal(t, "its injection came to no end", res.History.Faults[0].Proof)
	})
}

func TestARunThatEndsWhileAGroupIsPausedResumesIt(t *testing.T) {
	for name, interrupt := range map[string]func(*crew, context.CancelFunc){
		"interrupted":             func(_ *crew, cancel context.CancelFunc) { cancel() },
		"another client panicked": func(c *crew, _ context.CancelFunc) { c.bug.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrew()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := c.spec()
				s.Workload = panicky{c}
				s.Faults = []harness.TimedFault{{For: time.Hour, Nemesis: strike{"freeze",
					func(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
						resume := c.fleet.Pause(0)
						err := await(ctx, func() bool { return c.fleet.Standing(0) == 4 })
						interrupt(c, cancel)
						return harness.Injection{Bite: "they stand", Heal: healing(resume)}, err
					}}}}
				began := time.Now()
				res, err := harness.Run(ctx, s)
				require.Equal(t, name != "interrupted", err != nil, "%v", err)
				require.NotEmpty(t, res.History.End.Reason)
				require.Less(t, time.Since(began), 10*time.Second)
				require.Zero(t, c.fleet.Standing(0))
			})
		})
	}
}

// panicky is a crew whose members of group 1 panic when they are told to.
type panicky struct{ *crew }

func (p panicky) Open(ctx context.Context, group int) (harness.Client, error) {
	c, err := p.crew.Open(ctx, group)
	return panickyMan{c.(*crewman)}, err
}

type panickyMan struct{ *crewman }

func (p panickyMan) Step(ctx context.Context, s *harness.Session) {
	if p.group == 1 && p.bug.Load() {
		panic("a client's bug")
	}
	p.crewman.Step(ctx, s)
}

func TestAFleetServesOneRunAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
		s := c.spec()
		var second error
		s.Faults = []harness.TimedFault{{Nemesis: strike{"another run",
			func(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
				_, second = harness.Run(ctx, c.spec())
				return harness.Injection{Bite: "it ran"}, nil
			}}}}
		_, err := harness.Run(t.Context(), s)
		require.NoError(t, err)
		require.ErrorIs(t, second, harness.ErrSpec)
		require.ErrorContains(t, second, "in use by another run")

		old := c.fleet.Skew(0, time.Hour)
		c.opened.Add(8)
		_, err = harness.Run(t.Context(), c.spec())
		require.NoError(t, err)
		skew := c.fleet.Skew(0, time.Minute)
		old() // of a run that is over
		require.Equal(t, time.Minute, c.fleet.Ahead(0))
		skew()
		require.Zero(t, c.fleet.Ahead(0))
	})
}

func TestWithoutAFleetCheckpointsDoNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, harness.Checkpoint(t.Context()))
		c := newCrew()
		s := c.spec()
		s.Fleet = nil
		res, err := harness.Run(t.Context(), s)
		require.NoError(t, err)
		require.NotEmpty(t, opsOf(t, res.History))
	})
}

func BenchmarkCheckpoint(b *testing.B) {
	c := newCrew()
	s := c.spec()
	s.Workload = benched{c, b}
	s.Clients, s.Duration = 2, time.Millisecond
	_, err := harness.Run(b.Context(), s)
	require.NoError(b, err)
}

type benched struct {
	*crew
	b *testing.B
}

func (w benched) Open(context.Context, int) (harness.Client, error) { return w, nil }
func (w benched) Step(ctx context.Context, s *harness.Session) {
	if s.Client() == 0 && w.opened.Add(1) == 1 {
		for range w.b.N {
			_ = harness.Checkpoint(ctx)
		}
	}
	s.Sleep(time.Millisecond)
}
