package explore

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file compares searches from memory with searches that really run every schedule.

// everyHistory runs a search and lists its histories, with all their times.
func (s *scheduler) everyHistory(spec Spec) (all []string) {
	s.t.Helper()
	c := &collector{}
	spec.Checkers = []harness.Checker{c}
	s.search(spec)
	for _, ops := range c.histories {
		all = append(all, fmt.Sprintf("%+v", ops))
	}
	slices.Sort(all)
	return all
}

func TestMemoryShowsWhatIsReallyRun(t *testing.T) { memoryShowsWhatIsReallyRun(t, false) }

// What schedules show from memory is what they show when they are really run, to the last microsecond.
func memoryShowsWhatIsReallyRun(t *testing.T, long bool) {
	naps := with(clocks, "NAP", "NAP")
	tryRandom(t, []kind{
		{"commands", several, 0, 10, 2, 3, nil},
		{"three clients", plain, 0, 2, 3, 2, nil},
		{"crashes and expiries", leases, 0, 6, 2, 2, mayCrashOrExpire},
		{"skew", naps, 0, 8, 2, 2, func(s *Spec) { s.Skew, s.Expiries = lease, 1 }},
		{"clocks and naps", naps, 0, 8, 2, 3, mayExpire},
		{"scripts and flushes", scripts, 0, 8, 2, 2, func(s *Spec) { s.Flushes, s.Expiries = 1, 1 }},
		{"scripts, clocks and time", with(scripts, "CLOCK", "TIME"), 0, 4, 2, 2, mayExpire},
		{"watched keys", with(watches, "SET $k $v EX 10"), 0, 8, 2, 2, mayExpire},
		{"watched keys, late and lost", watches, 0, 4, 2, 1, func(s *Spec) { s.Late, s.LostAnswers, s.LostCommands, s.Expiries = 1, 1, 1, 1 }},
		{"late and lost", leases, 0, 5, 2, 2, func(s *Spec) { s.Late, s.LostAnswers, s.LostCommands = 1, 1, 1 }},
		{"observed", leases, 0, 5, 2, 2, func(s *Spec) { mayExpire(s); observed(s) }},
		{"failover", leases, 0, 1, 2, 2, mayFailOver},
		{"failover and watched keys", watches, 0, 1, 2, 1, func(s *Spec) { s.Failovers, s.Expiries = 1, 1 }},
		{"failover and scripts", with(scripts, "WAIT 2 1000"), 0, 1, 2, 2, mayFailOver},
	}, 11, long, func(s *scheduler, spec Spec, what string) {
		spec.Unreduced, spec.Program.Finally = true, lookTwice
		recalled := s.everyHistory(spec)
		require.Empty(s.t, s.last.memory.broken, what)
		spec.Unremembered = true
		require.Equal(s.t, s.everyHistory(spec), recalled, what)
	})
}

// lookTwice looks at the store at the end of a schedule, and again when leases are over.
func lookTwice(ctx context.Context, s *harness.Session, r redis.UniversalClient, after interleave.After) error {
	dump(ctx, s, r)
	if len(after.Ops())%2 == 0 {
		if err := after.Pass(lease / 2); err != nil {
			return err
		}
		dump(ctx, s, r)
	}
	left, err := after.PassAll(2 * lease)
	if err == nil && left > 0 {
		dump(ctx, s, r)
	}
	return err
}

// Time passes while the program's look at the store waits, so it is not run from memory.
func TestALookThatWaitsIsReallyRun(t *testing.T) {
	t.Parallel()
	spec := quiet(program(sends("SET a 1", "DEL a"), sends("GET a")))
	spec.Program.Finally = func(ctx context.Context, s *harness.Session, r redis.UniversalClient, _ interleave.After) error {
		s.Invoke(harness.Op{Kind: harness.Read, Key: "q"}, func(op *harness.Op) {
			op.Outcome, op.Result = harness.OK, fmt.Sprint(r.BLPop(ctx, 5*time.Second, "q").Err())
		})
		return nil
	}
	s := newScheduler(t, spec)
	looked := s.everyHistory(spec)
	require.Contains(t, s.last.memory.broken, "waits")
	spec.Unremembered = true
	require.Subset(t, s.everyHistory(spec), looked)
}
