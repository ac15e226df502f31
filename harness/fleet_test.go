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

// crew is a workload whose operations have two commands each, with checkpoints like those of real workloads.
type crew struct {
	*fake
	fleet  *harness.Fleet
	opened atomic.Int64 // calls of Open; the ninth fails
	bug    atomic.Bool  // members of group 1 panic

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

// shown returns the last time that the clock of a group's client showed.
func (c *crew) shown(group int) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock[group]
}

type crewman struct {
	*crew
	group int
	ids   []int // of its operations
}

func (c *crewman) Step(ctx context.Context, s *harness.Session) {
	if c.group == 1 && c.bug.Load() {
		panic("a client's bug")
	}
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

// strike is a nemesis made of a name and a function.
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
		time.Sleep(time.Millisecond) // between two checks of the condition
	}
	return nil
}

// struck runs the crew with one fault.
func (c *crew) struck(t *testing.T, stays time.Duration,
	do func(context.Context, *rand.Rand) (harness.Injection, error)) harness.Result {
	t.Helper()
	s := c.spec()
	s.Faults = []harness.TimedFault{{For: stays, Nemesis: strike{"struck", do}}}
	return ran(t, s)
}

// withCrew runs a test of a crew in virtual time.
func withCrew(t *testing.T, test func(*testing.T, *crew)) {
	synctest.Test(t, func(t *testing.T) { test(t, newCrew()) })
}

func TestAPausedGroupDoesNothingUntilItIsResumed(t *testing.T) {
	withCrew(t, func(t *testing.T, c *crew) {
		var held int
		res := c.struck(t, 40*time.Millisecond, func(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
			first, second := c.fleet.Pause(1), c.fleet.Pause(1)
			err := await(ctx, func() bool { return c.fleet.AtCheckpoint(1) == 4 })
			first()
			first() // both end the same pause
			held = c.fleet.AtCheckpoint(1)
			heal := func(ctx context.Context) error {
				before := c.shown(1)
				second()
				return await(ctx, func() bool { return c.shown(1) != before })
			}
			return harness.Injection{Bite: "they stand", Frozen: []int{1}, Heal: heal}, err
		})
		require.Equal(t, 4, held)
		f := res.History.Faults[0]
		require.Equal(t, []int{1}, f.Frozen)
		during := map[int]int{}
		for _, op := range opsOf(t, res.History) {
			if op.Call > f.Active && op.Return < f.Heal {
				during[res.Meta.Group(op.Client)]++
			}
		}
		require.Zero(t, during[1])
		require.Positive(t, during[0])
		require.Zero(t, c.fleet.AtCheckpoint(1))
	})
}

func TestTheClockOfAGroupIsWrongUntilItHeals(t *testing.T) {
	withCrew(t, func(t *testing.T, c *crew) {
		ahead := func(group int) time.Duration { return time.Until(c.shown(group)).Round(time.Hour) }
		c.struck(t, 0, func(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
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
		})
		require.Zero(t, c.fleet.Ahead(0))
	})
}

func TestARunThatEndsWhileAGroupIsPausedResumesIt(t *testing.T) {
	for name, c := range map[string]struct {
		end        func(*crew, context.CancelFunc)
		err, proof string
	}{
		"interrupted": {func(_ *crew, cancel context.CancelFunc) { cancel() }, "", "they stand"},
		"another client panicked": {func(c *crew, _ context.CancelFunc) { c.bug.Store(true) }, "a client's bug",
			"they stand"},
		// it returns no heal
		"the nemesis panicked": {func(*crew, context.CancelFunc) { panic("a bug") }, "a bug",
			"its injection did not end"},
	} {
		t.Run(name, func(t *testing.T) {
			withCrew(t, func(t *testing.T, crew *crew) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := crew.spec()
				s.Faults = []harness.TimedFault{{For: time.Hour,
					Nemesis: strike{"freeze", func(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
						resume, back := crew.fleet.Pause(0), crew.fleet.Skew(0, time.Hour)
						err := await(ctx, func() bool { return crew.fleet.AtCheckpoint(0) == 4 })
						c.end(crew, cancel)
						return harness.Injection{Bite: "they stand", Heal: healing(func() { resume(); back() })}, err
					}}}}
				began := time.Now()
				res, err := harness.Run(ctx, s)
				require.Equal(t, c.err != "", err != nil, "%v", err)
				require.Contains(t, fmt.Sprint(err), c.err)
				require.NotEmpty(t, res.History.End.Reason)
				require.Less(t, time.Since(began), 10*time.Second)
				require.Equal(t, []int{0, 0}, []int{crew.fleet.AtCheckpoint(0), int(crew.fleet.Ahead(0))})
				require.Equal(t, c.proof, res.History.Faults[0].Proof)
			})
		})
	}
}

func TestAFleetServesOneRunAtATime(t *testing.T) {
	withCrew(t, func(t *testing.T, c *crew) {
		var second error
		c.struck(t, 0, func(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
			_, second = harness.Run(ctx, c.spec())
			return harness.Injection{Bite: "it ran"}, nil
		})
		require.ErrorIs(t, second, harness.ErrSpec)
		require.ErrorContains(t, second, "in use by another run")

		old := c.fleet.Skew(0, time.Hour)
		c.opened.Add(8)
		ran(t, c.spec())
		skew := c.fleet.Skew(0, time.Minute)
		old() // of an earlier run
		require.Equal(t, time.Minute, c.fleet.Ahead(0))
		skew()
		require.Zero(t, c.fleet.Ahead(0))
	})
}
