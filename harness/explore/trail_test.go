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

// Of programs that wait, subscribe and have threads, a search that stops at known states shows every outcome and every order of
// operations, and its smallest counterexamples are as short.
func TestStatesOfReallyRunSchedulesLoseNothing(t *testing.T) {
	plain := []string{"GET $k", "SET $k $v", "INCR $k", "DEL $k", "SETNX $k $v"}
	waits := []string{"LPUSH $k $v", "RPUSH $k $v", "BLPOP $k 0", "BLPOP a b 5", "BLMOVE a b LEFT LEFT 7", "LLEN $k"}
	threads := append(slices.Clone(plain), "THREAD INCR $k", "THREAD NAP", "THREAD SET $k $v EX 10", "NAP")
	listens := append(slices.Clone(plain), "LISTEN $k", "PUBLISH $k $v", "PUBLISH $k $v")
	for _, group := range []struct {
		name     string
		menu     []string
		programs int
		clients  int
		commands int // of each client, at least
		spec     func(*Spec)
	}{
		{"commands", append(slices.Clone(plain), "TX GET $k / INCR $k", "MGET a b"), 6, 2, 3, nil},
		{"three clients", plain, 2, 3, 2, nil},
		{"waits", waits, 8, 2, 3, nil},
		{"waits of three clients", []string{"LPUSH $k $v", "BLPOP $k 0", "BLPOP a b 5"}, 4, 3, 1, nil},
		{"waits and crashes", waits, 5, 2, 2, func(s *Spec) { s.Crashes = 1 }},
		{"waits, late and lost", waits, 3, 2, 2, func(s *Spec) { s.Late, s.LostAnswers = 1, 1 }},
		{"threads", threads, 8, 2, 2, nil},
		{"threads and crashes", threads, 3, 2, 2, func(s *Spec) { s.Crashes = 1 }},
		{"messages", listens, 8, 2, 2, nil},
		{"messages and crashes", listens, 4, 2, 2, func(s *Spec) { s.Crashes = 1 }},
		{"messages and lost answers", listens, 4, 2, 3, func(s *Spec) { s.LostAnswers = 1 }},
		{"threads, messages and waits", slices.Concat(threads, listens, waits), 8, 2, 2, nil},
		{"clocks and leases", append(slices.Clone(threads), "CLOCK", "PTTL $k"), 3, 2, 2, func(s *Spec) { s.Expiries = 1 }},
		{"flushes", append(slices.Clone(plain), "RUN bump $k", "RUN lease $k"), 3, 2, 2, func(s *Spec) { s.Flushes = 1 }},
		{"failover", []string{"SET $k $v", "GET $k", "BLPOP c 5"}, 2, 2, 1, func(s *Spec) { s.Failovers = 1 }},
		{"failover and leases", []string{"SET $k $v EX 10", "GET $k", "INCR $k", "BLPOP c 5"}, 1, 2, 1, func(s *Spec) { s.Failovers, s.Expiries = 1, 1 }},
	} {
		t.Run(group.name, func(t *testing.T) {
			if slow := []string{"threads", "threads and crashes"}; slices.Contains(slow, group.name) && !*Long {
				t.Skip("make test-long")
			}
			t.Parallel()
			var s *scheduler
			fewer, all, found := 0, 0, 0
			for seed := range uint64(group.programs) {
				spec, what := randomSpec(seed, 23, group.clients, group.commands, group.menu, group.spec)
				spec.Program.Finally = dumpTypes
				if s == nil {
					s = newScheduler(t, spec)
				}
				every := &collector{}
				spec.Unremembered, spec.Checkers = true, []harness.Checker{every}
				s.search(spec)
				rare := rarest(every.histories)
				want, wantFound, n := s.shownAndFound(spec, rare)
				spec.Unremembered, spec.forgetful = false, true
				got, gotFound, fewerOf := s.shownAndFound(spec, rare)
				want.in(t, got, false, what+"\nlost:")
				got.in(t, want, false, what+"\nonly with states:")
				require.Equal(t, wantFound, gotFound, what)
				fewer, all, found = fewer+fewerOf, all+n, found+len(wantFound)
			}
			require.Less(t, fewer, all, "or no state was known, and nothing shown")
			require.NotZero(t, found, "or no length was compared")
			t.Logf("%d of %d schedules, %d counterexamples", fewer, all, found)
		})
	}
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
