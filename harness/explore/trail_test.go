package explore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file compares searches that stop at known states, but remember nothing, with searches that run every schedule to its end.

// shownAndFound runs a whole search with a collector and a checker of its own. It returns what its schedules showed, and for each
// class that was found the length of the smallest counterexample.
func (s *scheduler) shownAndFound(spec Spec, checker harness.Checker) (set shown, lengths map[harness.Class]int, ran int) {
	s.t.Helper()
	c := &collector{}
	spec.Checkers = []harness.Checker{c, checker}
	res := s.search(spec)
	lengths = map[harness.Class]int{}
	for class, found := range s.last.found {
		lengths[class] = found.length
	}
	return showing(c.histories), lengths, res.Schedules
}

// rarest returns a checker that finds the result that the fewest schedules show.
func rarest(histories [][]harness.Op) finder {
	count := map[string]int{}
	of := func(op harness.Op) string { return fmt.Sprint(op.Client, op.Key, op.Result) }
	for _, ops := range histories {
		for _, op := range ops {
			count[of(op)]++
		}
	}
	var results []string
	for r := range count {
		results = append(results, r)
	}
	least := slices.MinFunc(results, func(a, b string) int { return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a, b)) })
	return func(op harness.Op) bool { return of(op) == least }
}

func TestStatesOfReallyRunSchedulesLoseNothing(t *testing.T) { statesLoseNothing(t, false) }

// Of programs that wait, subscribe and have threads, a search that stops at known states shows every outcome and every order of
// operations, and its smallest counterexamples are as short.
func statesLoseNothing(t *testing.T, long bool) {
	fewer, all, found := 0, 0, 0
	kinds := []kind{
		{"commands", several, 0, 6, 2, 3, nil},
		{"three clients", plain, 0, 2, 3, 2, nil},
		{"waits", waits, 0, 8, 2, 3, nil},
		{"waits of three clients", []string{"LPUSH $k $v", "BLPOP $k 0", "BLPOP a b 5"}, 0, 4, 3, 1, nil},
		{"waits and crashes", waits, 0, 5, 2, 2, mayCrash},
		{"waits, late and lost", waits, 0, 3, 2, 2, func(s *Spec) { s.Late, s.LostAnswers = 1, 1 }},
		{"threads", threads, 0, 8, 2, 2, nil},
		{"threads and crashes", threads, 0, 3, 2, 2, mayCrash},
		{"messages", messages, 0, 8, 2, 2, nil},
		{"messages and crashes", messages, 0, 4, 2, 2, mayCrash},
		{"messages and lost answers", messages, 0, 4, 2, 3, func(s *Spec) { s.LostAnswers = 1 }},
		{"threads, messages and waits", slices.Concat(threads, messages, waits), 0, 8, 2, 2, nil},
		{"clocks and leases", with(threads, "CLOCK", "PTTL $k"), 0, 3, 2, 2, mayExpire},
		{"flushes", with(plain, "RUN bump $k", "RUN lease $k"), 0, 3, 2, 2, mayFlush},
		{"failover", []string{"SET $k $v", "GET $k", "BLPOP c 5"}, 0, 2, 2, 1, mayFailOver},
		{"failover and leases", []string{"SET $k $v EX 10", "GET $k", "INCR $k", "BLPOP c 5"}, 0, 1, 2, 1, func(s *Spec) { s.Failovers, s.Expiries = 1, 1 }},
	}
	if !long {
		kinds = kinds[:len(kinds)-1] // the last takes seconds
	}
	tryRandom(t, kinds, 23, long, func(s *scheduler, spec Spec, what string) {
		every := &collector{}
		spec.Program.Finally, spec.Unremembered, spec.Checkers = dumpTypes, true, []harness.Checker{every}
		s.search(spec)
		rare := rarest(every.histories)
		want, wantFound, n := s.shownAndFound(spec, rare)
		spec.Unremembered, spec.forgetful = false, true
		got, gotFound, fewerOf := s.shownAndFound(spec, rare)
		want.in(s.t, got, false, what+"\nlost:")
		got.in(s.t, want, false, what+"\nonly with states:")
		require.Equal(s.t, wantFound, gotFound, what)
		fewer, all, found = fewer+fewerOf, all+n, found+len(wantFound)
	})
	require.Less(t, fewer, all*9/10, "or few states were known, and nothing shown")
	require.NotZero(t, found, "or no length was compared")
	t.Logf("%d of %d schedules, %d counterexamples", fewer, all, found)
}

// dumpTypes looks at the keys of random programs, whatever their type.
func dumpTypes(ctx context.Context, s *harness.Session, r redis.UniversalClient, _ interleave.After) error {
	s.Invoke(harness.Op{Kind: harness.Read, Key: "store"}, func(op *harness.Op) {
		for _, k := range []string{"a", "b"} {
			v, err := r.Dump(ctx, k).Result()
			if op.Outcome, op.Result = harness.OK, fmt.Sprintf("%s%q ", op.Result, v); err != nil && err != redis.Nil {
				op.Outcome, op.Err = harness.Info, err.Error()
			}
		}
	})
	return nil
}
