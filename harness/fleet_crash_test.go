package harness_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestACrashedClientIsNeverHeardOfAgainAndItsWorkerGoesOn(t *testing.T) {
	withCrew(t, func(t *testing.T, c *crew) {
		const rounds = 20
		s := c.spec()
		died := 0
		for range rounds {
			s.Faults = append(s.Faults, harness.TimedFault{After: time.Millisecond, Nemesis: strike{"crash",
				func(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
					died += 4
					c.fleet.Crash(0, rng)
					err := await(ctx, func() bool {
						return c.fleet.Crashes(0) == died && c.opened.Load() == int64(8+1+died)
					})
					return harness.Injection{Bite: "they died"}, err
				}}})
		}
		res := ran(t, s)
		require.Equal(t, 4*rounds, died)
		require.Zero(t, c.fleet.Crashes(1))
		require.EqualValues(t, 8+1+4*rounds, c.opened.Load(),
			"one for each worker and each crash, and one more for that which failed")

		cut := map[string]int{} // what crashes interrupted
		lastWord := map[int]harness.Op{}
		for _, op := range opsOf(t, res.History) {
			require.Empty(t, lastWord[op.Client].Err, "client %d spoke again after its crash", op.Client)
			lastWord[op.Client] = op
			if op.Err != "" {
				require.Zero(t, res.Meta.Group(op.Client))
				cut[op.Outcome.String()]++
			}
		}
		require.Positive(t, cut["fail"], "no crash before the first command")
		require.Positive(t, cut["info"], "no crash after it")
		require.Less(t, cut["fail"]+cut["info"], 4*rounds, "no crash between two operations")
		for _, member := range c.alive {
			for _, id := range member.ids {
				require.Equal(t, member.ids[0], id, "one client spoke under two ids without a reason")
			}
		}
	})
}

func TestAClientThatStandsStillCanCrash(t *testing.T) {
	withCrew(t, func(t *testing.T, c *crew) {
		res := c.struck(t, 0, func(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
			resume := c.fleet.Pause(0)
			require.NoError(t, await(ctx, func() bool { return c.fleet.AtCheckpoint(0) == 4 }))
			c.fleet.Crash(0, rng)
			require.Equal(t, 4, c.fleet.Crashes(0))
			err := await(ctx, func() bool { return c.opened.Load() >= 8+4 && c.fleet.AtCheckpoint(0) == 4 })
			return harness.Injection{Bite: "the next ones stand", Heal: healing(resume)}, err
		})
		require.Positive(t, res.History.Faults[0].End)
	})
}

func TestCommandsSideBySideOfADeadClientStayDead(t *testing.T) {
	withCrew(t, func(t *testing.T, c *crew) {
		const goroutines = 16
		var early, late atomic.Int64
		var first sync.Once
		crashed := make(chan struct{})
		s := c.spec()
		s.Clients, s.Workload = 2, stepping{c.fake, func(ctx context.Context, s *harness.Session) {
			leave := func() { // goroutines behind, by the first client in group 0
				for range goroutines {
					go func() {
						early.Add(1)
						for range 10 { // either of them may die
							_ = harness.Checkpoint(ctx)
						}
						<-crashed
						if errors.Is(harness.Checkpoint(ctx), harness.ErrCrashed) {
							late.Add(1)
						}
					}()
				}
			}
			if s.Group == 0 {
				first.Do(leave)
			}
			s.Sleep(time.Millisecond)
		}}
		s.Faults = []harness.TimedFault{{Nemesis: strike{"crash",
			func(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
				if err := await(ctx, func() bool { return early.Load() == goroutines }); err != nil {
					return harness.Injection{}, err
				}
				for range 10 {
					c.fleet.Crash(0, rng)
					if err := await(ctx, func() bool { return c.fleet.Crashes(0) > 0 }); err != nil {
						return harness.Injection{}, err
					}
				}
				return harness.Injection{Bite: "dead"}, nil
			}}}}
		ran(t, s)
		close(crashed)
		synctest.Wait()
		require.EqualValues(t, goroutines, late.Load(), "a dead client's commands pass a checkpoint")
	})
}

func TestAnOperationThatPanicsIsRecordedAsUnknown(t *testing.T) {
	withCrew(t, func(t *testing.T, c *crew) {
		s := c.spec()
		s.Workload = stepping{c.fake, func(_ context.Context, s *harness.Session) {
			s.Invoke(harness.Op{Kind: harness.Next}, func(op *harness.Op) {
				op.Outcome, op.Result = harness.OK, "1"
				s.Sleep(time.Millisecond)
			})
		}}
		s.Faults = []harness.TimedFault{{Nemesis: strike{"crash",
			func(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
				c.fleet.Crash(0, rng)
				return harness.Injection{Bite: "dead"}, await(ctx, func() bool { return c.fleet.Crashes(0) == 4 })
			}}}}
		res := ran(t, s)
		cut := 0
		for _, op := range opsOf(t, res.History) {
			if op.Outcome == harness.Info {
				require.Equal(t, "crashed", op.Err)
				require.Empty(t, op.Result)
				cut++
			}
		}
		require.Positive(t, cut)
	})
}
