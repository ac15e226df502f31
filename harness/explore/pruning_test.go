package explore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// This file tests what pruning promises: all that the clients of a program can see and leave in the store, and every order in
// which their operations can end and begin, shows in some schedule that is run.

// outcome holds what a schedule showed: the operations of each client and the contents of the store.
func outcome(ops []harness.Op) string {
	var parts []string
	for _, op := range ops {
		parts = append(parts, fmt.Sprintf("%d %s %v %q %s", op.Client, op.Key, op.Outcome, op.Result, op.Err))
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

// precedence tells which operations of clients had ended before which operations of others began. It leaves out times, the begin
// of an operation that a crash ended before its first command, and work between two operations.
func precedence(ops []harness.Op) (pairs []string) {
	for _, a := range ops {
		for _, b := range ops {
			apart := a.Client > 0 && b.Client > 0 && a.Client != b.Client
			begun := b.Outcome != harness.Info || b.Call < b.Return
			if apart && begun && a.Outcome != harness.Info && a.Key != work && b.Key != work && a.Return < b.Call {
				pairs = append(pairs, fmt.Sprintf("%d %s < %d %s", a.Client, a.Key, b.Client, b.Key))
			}
		}
	}
	slices.Sort(pairs)
	return pairs
}

// shown holds what schedules showed: for each outcome, the orders of operations that came with it.
type shown map[string]map[string][]string

// shows runs a whole search and returns what its schedules showed.
func (s *scheduler) shows(spec Spec) (set shown, schedules int) {
	s.t.Helper()
	c := &collector{}
	spec.Checkers = []harness.Checker{c}
	res := s.search(spec)
	return showing(c.histories), res.Schedules
}

// showing returns what schedules with those histories showed.
func showing(histories [][]harness.Op) shown {
	set := shown{}
	for _, ops := range histories {
		o, order := outcome(ops), precedence(ops)
		if set[o] == nil {
			set[o] = map[string][]string{}
		}
		set[o][strings.Join(order, "\n")] = order
	}
	return set
}

// has reports whether the outcome is there with that order, or if more is set with one that contains it: a violation in the one is
// a violation in the other. Where clients look at clocks, operations may end earlier.
func (s shown) has(outcome string, order []string, more bool) bool {
	if !more {
		_, ok := s[outcome][strings.Join(order, "\n")]
		return ok
	}
	for _, other := range s[outcome] {
		if !slices.ContainsFunc(order, func(pair string) bool { return !slices.Contains(other, pair) }) {
			return true
		}
	}
	return false
}

// in fails unless other has all that s has.
func (s shown) in(t *testing.T, other shown, more bool, message string) {
	t.Helper()
	for o, orders := range s {
		for _, order := range orders {
			require.True(t, other.has(o, order, more), "%s\n%s\n%s", message, o, strings.Join(order, "\n"))
		}
	}
}

// losesNothing compares a search with the same without pruning, and returns how many schedules each ran.
func (s *scheduler) losesNothing(spec Spec, more bool, what string) (pruned, all int) {
	s.t.Helper()
	some, pruned := s.shows(spec)
	spec.Unreduced = true
	every, all := s.shows(spec)
	every.in(s.t, some, more, what+"\npruning loses:")
	some.in(s.t, every, false, what+"\nonly with pruning:")
	require.LessOrEqual(s.t, pruned, all)
	return pruned, all
}

func TestPruningLosesNoOutcome(t *testing.T) { pruningLosesNoOutcome(t, false) }

func pruningLosesNoOutcome(t *testing.T, long bool) {
	ends := with(plain, "SET $k $v PX 1000", "SET $k $v EX 10", "SET $k $v EX 10", "PTTL $k")
	var pruned, all int
	tryRandom(t, []kind{
		{"commands", plain, 0, 30, 2, 3, nil},
		{"several keys and transactions", with(several, "TX SET $k $v / GET b", "EXISTS a b"), 0, 10, 2, 3, nil},
		{"three clients", plain, 0, 3, 3, 2, nil},
		{"crashes", plain, 0, 5, 2, 3, func(s *Spec) { s.Crashes = 2 }},
		{"expiries", leases, 0, 4, 2, 3, mayExpire},
		{"crash and expiry", leases, 0, 1, 2, 3, mayCrashOrExpire},
		{"naps", []string{"GET $k", "SET $k $v EX 10", "SET $k $v EX 10", "SETNX $k $v", "NAP"}, 0, 15, 2, 3, nil},
		{"clocks", clocks, 0, 20, 2, 3, nil},
		{"clocks, crash and expiry", clocks, 0, 1, 2, 3, mayCrashOrExpire},
		{"work", with(plain, work, work), 0, 10, 2, 3, mayCrash},
		{"observed", plain, 0, 10, 2, 3, observed},
		{"late commands", plain, 0, 12, 2, 3, mayBeLate},
		{"lost answers and commands", plain, 0, 5, 2, 2, func(s *Spec) { s.LostAnswers, s.LostCommands = 1, 1 }},
		{"late commands and leases", ends, 0, 3, 2, 2, func(s *Spec) { s.Late, s.Expiries = 1, 1 }},
		{"leases of two lengths", ends, 26, 4, 2, 3, mayExpire},
		{"waits", []string{"LPUSH $k $v", "RPUSH $k $v", "BLPOP $k 0", "BRPOP $k 0", "LLEN $k"}, 0, 12, 2, 3, nil},
		{"waits and crashes", []string{"LPUSH $k $v", "RPUSH $k $v", "BLPOP a b 0", "BLMOVE a b LEFT LEFT 0", "LLEN $k"}, 0, 8, 2, 3, mayCrash},
		{"waits with time-outs", []string{"LPUSH $k $v", "BLPOP $k 5", "BLPOP $k 7", "LLEN $k"}, 0, 8, 2, 3, nil},
		{"watched keys", []string{"CAS $k $v", "CAS $k $v", "SET $k $v", "GET $k"}, 0, 6, 2, 2, nil},
		{"three clients and two keys", []string{"SET $k $v", "GET $k", "INCR $k", "MGET a b"}, 40, 6, 3, 2, nil},
		{"late pairs", []string{"SET $k $v", "GET $k", "INCR $k", "DEL $k"}, 50, 10, 2, 3, func(s *Spec) { s.Late = 2 }},
		{"failover", plain, 2, 1, 2, 2, mayFailOver},
	}, 7, long, func(s *scheduler, spec Spec, what string) {
		p, a := s.losesNothing(spec, strings.Contains(what, "CLOCK"), what)
		pruned, all = pruned+p, all+a
	})
	require.Less(t, pruned, all*9/10, "or little was pruned, and nothing shown")
	t.Logf("%d of %d schedules", pruned, all)
}
