package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file tests what pruning promises: all that the clients of a program can see and leave in the store, and every order in
// which their operations can end and begin, shows in some schedule that is run.

// script lists the operations of a client of a random program, of a few commands each.
type script [][]string

// work is an operation without commands, after some time.
const work = "WORK"

func (s script) String() string {
	var ops []string
	for _, op := range s {
		ops = append(ops, "["+strings.Join(op, ", ")+"]")
	}
	return strings.Join(ops, " ")
}

// randomScript draws a script of n commands.
func randomScript(rng *rand.Rand, n int, menu []string) (s script) {
	for n > 0 {
		size := min(n, 1+rng.IntN(3))
		n -= size
		var op []string
		for range size {
			c := menu[rng.IntN(len(menu))]
			c = strings.ReplaceAll(c, "$k", []string{"a", "b"}[rng.IntN(2)])
			op = append(op, strings.ReplaceAll(c, "$v", fmt.Sprint(10*rng.IntN(100))))
		}
		s = append(s, op)
	}
	return s
}

// randomSpec makes the search of a random program: each client has at least so many commands of the menu. seed and stream draw it. change,
// if it is not nil, says what may happen to it. what names the program.
func randomSpec(seed, stream uint64, clients, commands int, menu []string, change func(*Spec)) (spec Spec, what string) {
	rng := rand.New(rand.NewPCG(seed, stream))
	var texts []script
	for range clients {
		texts = append(texts, randomScript(rng, commands+rng.IntN(2), menu))
	}
	spec = quiet(scripted(texts))
	spec.Clients = clients
	if change != nil {
		change(&spec)
	}
	return spec, fmt.Sprintf("seed %d: %v", seed, texts)
}

// does makes a client of the script. A command that begins with TX is a transaction of the commands that follow it, separated by
// a slash.
func (s script) does(ctx context.Context, session *harness.Session, r redis.UniversalClient) {
	for i, commands := range s {
		name := fmt.Sprintf("op %d", i)
		if commands[0] == work {
			if name = work; !session.Sleep(time.Millisecond) {
				return
			}
		}
		got := op(session, name, func() (string, error) {
			var all []string
			for _, c := range commands {
				result, err := perform(ctx, r, c)
				if err != nil {
					return "", err
				}
				all = append(all, result)
			}
			return strings.Join(all, " "), nil
		})
		if got.Outcome != harness.OK {
			return
		}
	}
}

func perform(ctx context.Context, r redis.UniversalClient, c string) (string, error) {
	switch c {
	case "CLOCK":
		return fmt.Sprint(harness.Now(ctx).After(epoch.Add(lease / 2))), nil
	case "NAP":
		return "", harness.Sleep(ctx, lease)
	case work:
		return "", nil
	}
	if words := strings.Fields(c); slices.Contains([]string{"RUN", "CAS", "THREAD", "LISTEN"}, words[0]) {
		return performTogether(ctx, r, words)
	}
	list, isTx := strings.CutPrefix(c, "TX ")
	if !isTx {
		return say(ctx, r, c)
	}
	cmds, err := r.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, c := range strings.Split(list, " / ") {
			_, _ = say(ctx, p, c)
		}
		return nil
	})
	var all []string
	for _, cmd := range cmds {
		all = append(all, cmd.String())
	}
	if err == redis.Nil {
		err = nil
	}
	return strings.Join(all, " "), err
}

// dump reads the whole store, as an operation of the harness.
func dump(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
	s.Invoke(harness.Op{Kind: harness.Read, Key: "store"}, func(op *harness.Op) {
		v, err := r.MGet(ctx, "a", "b").Result()
		if op.Outcome, op.Result = harness.OK, fmt.Sprint(v); err != nil {
			op.Outcome, op.Err = harness.Info, err.Error()
		}
	})
}

// scripted makes a program of scripts that ends with a look at the store.
func scripted(scripts []script) interleave.Program {
	var clients []client
	for _, s := range scripts {
		clients = append(clients, s.does)
	}
	p := program(clients...)
	p.Kinds = nil
	p.Finally = func(ctx context.Context, s *harness.Session, r redis.UniversalClient, _ interleave.After) error {
		dump(ctx, s, r)
		return nil
	}
	return p
}

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

// has reports whether the outcome is there with that order, or with one that contains it: a violation in the one is a violation
// in the other.
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

func TestPruningLosesNoOutcome(t *testing.T) {
	plain := []string{"GET $k", "GET $k", "SET $k $v", "INCR $k", "DEL $k", "SETNX $k $v"}
	leases := append(slices.Clone(plain), "SET $k $v EX 10", "PERSIST $k", "EXPIRE $k 10")
	several := append(slices.Clone(plain), "MGET a b", "DEL a b", "TX GET $k / INCR $k", "TX SET $k $v / GET b", "EXISTS a b")
	ends := append(slices.Clone(plain), "SET $k $v PX 1000", "SET $k $v EX 10", "SET $k $v EX 10", "PTTL $k")
	clocks := append(slices.Clone(leases), "CLOCK", "CLOCK")
	for _, group := range []struct {
		name     string
		menu     []string
		first    uint64 // seed
		programs int
		clients  int
		commands int  // of each client, at least
		more     bool // operations may end earlier
		spec     func(*Spec)
	}{
		{"commands", plain, 0, 30, 2, 3, false, nil},
		{"several keys and transactions", several, 0, 10, 2, 3, false, nil},
		{"three clients", plain, 0, 3, 3, 2, false, nil},
		{"crashes", plain, 0, 5, 2, 3, false, func(s *Spec) { s.Crashes = 2 }},
		{"expiries", leases, 0, 4, 2, 3, false, func(s *Spec) { s.Expiries = 1 }},
		{"crash and expiry", leases, 0, 1, 2, 3, false, func(s *Spec) { s.Crashes, s.Expiries = 1, 1 }},
		{"naps", []string{"GET $k", "SET $k $v EX 10", "SET $k $v EX 10", "SETNX $k $v", "NAP"}, 0, 15, 2, 3, false, nil},
		{"clocks", clocks, 0, 20, 2, 3, true, nil},
		{"clocks, crash and expiry", clocks, 0, 1, 2, 3, true, func(s *Spec) { s.Crashes, s.Expiries = 1, 1 }},
		{"work", append(slices.Clone(plain), work, work), 0, 10, 2, 3, false, func(s *Spec) { s.Crashes = 1 }},
		{"observed", plain, 0, 10, 2, 3, false, func(s *Spec) {
			s.Program.Observe = func(ctx context.Context, s *harness.Session, r redis.UniversalClient, _ harness.Op) { dump(ctx, s, r) }
		}},
		{"late commands", plain, 0, 12, 2, 3, false, func(s *Spec) { s.Late = 1 }},
		{"lost answers and commands", plain, 0, 5, 2, 2, false, func(s *Spec) { s.LostAnswers, s.LostCommands = 1, 1 }},
		{"late commands and leases", ends, 0, 3, 2, 2, false, func(s *Spec) { s.Late, s.Expiries = 1, 1 }},
		{"leases of two lengths", ends, 26, 4, 2, 3, false, func(s *Spec) { s.Expiries = 1 }},
		{"waits", []string{"LPUSH $k $v", "RPUSH $k $v", "BLPOP $k 0", "BRPOP $k 0", "LLEN $k"}, 0, 12, 2, 3, false, nil},
		{"waits and crashes", []string{"LPUSH $k $v", "RPUSH $k $v", "BLPOP a b 0", "BLMOVE a b LEFT LEFT 0", "LLEN $k"}, 0, 8, 2, 3, false, func(s *Spec) { s.Crashes = 1 }},
		{"waits with time-outs", []string{"LPUSH $k $v", "BLPOP $k 5", "BLPOP $k 7", "LLEN $k"}, 0, 8, 2, 3, false, nil},
		{"watched keys", []string{"CAS $k $v", "CAS $k $v", "SET $k $v", "GET $k"}, 0, 6, 2, 2, false, nil},
		{"three clients and two keys", []string{"SET $k $v", "GET $k", "INCR $k", "MGET a b"}, 40, 6, 3, 2, false, nil},
		{"late pairs", []string{"SET $k $v", "GET $k", "INCR $k", "DEL $k"}, 50, 10, 2, 3, false, func(s *Spec) { s.Late = 2 }},
		{"failover", plain, 2, 1, 2, 2, false, func(s *Spec) { s.Failovers = 1 }}, // each takes a hundredth of a second
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			var s *scheduler
			var pruned, all int
			for seed := group.first; seed < group.first+uint64(usually(group.programs)); seed++ {
				spec, what := randomSpec(seed, 7, group.clients, group.commands, group.menu, group.spec)
				if s == nil {
					s = newScheduler(t, spec)
				}
				p, a := s.losesNothing(spec, group.more, what)
				pruned, all = pruned+p, all+a
			}
			require.Less(t, pruned, all, "or nothing was pruned, and nothing shown")
			t.Logf("%d of %d schedules", pruned, all)
		})
	}
}
