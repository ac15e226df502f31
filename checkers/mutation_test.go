package checkers

import (
	"cmp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// server is a correct lock, filter and sequence. It executes one operation after the other.
type server struct {
	dice
	now    time.Duration // of the last execution
	owners map[string]string
	ends   map[string]time.Duration // of leases and windows, by key
	last   int                      // number
}

// honest records operations of five workers on three keys of a correct server, with answers that are late or get lost.
func honest(d dice, ask func(*server, int) harness.Op, n int) []harness.Op {
	s := &server{dice: d, owners: map[string]string{}, ends: map[string]time.Duration{}}
	clients, free := []int{0, 1, 2, 3, 4}, make([]time.Duration, 5)
	var ops []harness.Op
	for range n {
		w := 0
		for i := range free {
			if free[i] < free[w] {
				w = i
			}
		}
		call := free[w] + time.Duration(d.IntN(6))
		s.now = max(s.now+1, call+time.Duration(d.IntN(3)))
		op := ask(s, w)
		if d.IntN(12) == 0 {
			op.Outcome, op.Result = harness.Info, ""
		}
		op.Client, op.Call, op.Return = clients[w], call, s.now+time.Duration(d.IntN(4))
		free[w] = op.Return
		if op.Outcome == harness.Info {
			clients[w] += 5
		}
		ops = append(ops, op)
	}
	return ops
}

// busy reports whether key is taken when the server executes an operation.
func (s *server) busy(key string) bool { return s.ends[key] > s.now }

func (s *server) lock(w int) harness.Op {
	key, me := "k"+strconv.Itoa(s.IntN(3)), strconv.Itoa(w)
	for k, owner := range s.owners {
		if owner == me && s.busy(k) && s.IntN(4) > 0 {
			s.ends[k] = 0
			return harness.Op{Kind: harness.Release, Key: k, Arg: me, Outcome: harness.OK}
		}
	}
	op := harness.Op{Kind: harness.Acquire, Key: key, Arg: me, TTL: time.Duration(20 + s.IntN(30)), Outcome: harness.Fail, Err: harness.Held}
	if !s.busy(key) || s.owners[key] == me {
		s.owners[key], s.ends[key] = me, s.now+op.TTL
		op.Outcome, op.Err = harness.OK, ""
	}
	return op
}

func (s *server) filter(int) harness.Op {
	key := "m" + strconv.Itoa(s.IntN(3))
	op := harness.Op{Kind: harness.Claim, Key: key, TTL: time.Duration(10 + s.IntN(30)), Outcome: harness.OK, Result: harness.ResultSeen}
	if !s.busy(key) {
		s.ends[key], op.Result = s.now+op.TTL, harness.ResultFirst
	}
	return op
}

func (s *server) number(int) harness.Op {
	s.last += 1 + s.IntN(2)
	return harness.Op{Kind: harness.Next, Key: "s", Outcome: harness.OK, Result: strconv.Itoa(s.last)}
}

// A mutation changes one thing of a history, or reports false if it cannot. What it makes could still have been recorded:
// workers do one thing after the other.
type mutation func(d dice, ops []harness.Op) ([]harness.Op, bool)

var mutations = map[string]mutation{
	"swap": func(d dice, ops []harness.Op) ([]harness.Op, bool) {
		i, j := d.IntN(len(ops)), d.IntN(len(ops))
		if ops[i].Kind != ops[j].Kind || ops[i].Outcome == harness.Info || ops[j].Outcome == harness.Info {
			return nil, false
		}
		a, b := &ops[i], &ops[j]
		a.Result, a.Outcome, a.Err, b.Result, b.Outcome, b.Err = b.Result, b.Outcome, b.Err, a.Result, a.Outcome, a.Err
		return ops, i != j
	},
	"drop": func(d dice, ops []harness.Op) ([]harness.Op, bool) {
		i := d.IntN(len(ops))
		return slices.Delete(ops, i, i+1), true
	},
	"duplicate": func(d dice, ops []harness.Op) ([]harness.Op, bool) {
		x := ops[d.IntN(len(ops))]
		x.Client = d.IntN(5)
		return append(ops, x), fits(ops, x)
	},
	"shift": func(d dice, ops []harness.Op) ([]harness.Op, bool) {
		i := d.IntN(len(ops))
		x, by := ops[i], time.Duration(d.IntN(120)-60)
		x.Call, x.Return = x.Call+by, x.Return+by
		rest := slices.Delete(ops, i, i+1)
		return append(rest, x), x.Call >= 0 && x.Outcome != harness.Info && fits(rest, x)
	},
	"owner": func(d dice, ops []harness.Op) ([]harness.Op, bool) {
		i := d.IntN(len(ops))
		x := ops[i]
		rest := slices.Delete(ops, i, i+1)
		if x.Arg != "" && d.IntN(2) == 0 {
			x.Arg += "'"
			return append(rest, x), true
		}
		x.Client = d.IntN(5)
		return append(rest, x), x.Outcome != harness.Info && fits(rest, x)
	},
	"outcome": func(d dice, ops []harness.Op) ([]harness.Op, bool) {
		x := &ops[d.IntN(len(ops))]
		if x.Outcome == harness.Info {
			return nil, false
		}
		was := x.Outcome
		x.Outcome = []harness.Outcome{harness.Fail, harness.OK}[d.IntN(2)]
		if x.Kind == harness.Claim {
			x.Outcome, x.Result = harness.OK, harness.ResultFirst
		}
		return ops, x.Outcome != was || x.Kind == harness.Claim
	},
}

// fits reports whether the worker of x has time for it. Its ids are not looked at: who is behind one is all that counts.
func fits(ops []harness.Op, x harness.Op) bool {
	return !slices.ContainsFunc(ops, func(o harness.Op) bool {
		return o.Client%5 == x.Client%5 && o.Call <= x.Return && x.Call <= o.Return
	})
}

// In a history of a correct server checkers find nothing; where one thing of it is changed they find exactly what their
// rules and porcupine find.
func TestMutationsAreNoticed(t *testing.T) {
	noticed, legal := map[string]int{}, map[string]int{}
	for _, tc := range []struct {
		property
		ask func(*server, int) harness.Op
	}{
		{properties[0], (*server).lock}, {properties[1], (*server).filter}, {properties[3], (*server).number},
	} {
		for seed := range uint64(16) {
			d, s := seeded(seed), score{}
			ops := honest(d, tc.ask, 50)
			require.NoError(t, tc.disagreement(tc.checker, recorded(ops), &s))
			require.Zero(t, s.violated, "%s, seed %d: a false alarm\n%v", tc.name, seed, recorded(ops))
			for name, mutate := range mutations {
				for try := range uint64(10) {
					changed, ok := mutate(seeded(1000*seed+try), slices.Clone(ops))
					if !ok {
						continue
					}
					s := score{}
					require.NoError(t, tc.disagreement(tc.checker, recorded(changed), &s), "%s, seed %d, try %d", name, seed, try)
					noticed[name] += s.violated
					legal[name] += 1 - s.violated
				}
			}
		}
	}
	for name := range mutations {
		t.Logf("%-9s noticed %4d, legal %4d", name, noticed[name], legal[name])
		require.Greater(t, noticed[name], 3, name)
		require.Greater(t, legal[name], 3, name)
	}
}

// recorded returns the history of ops of five workers.
func recorded(ops []harness.Op) history {
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b harness.Op) int { return cmp.Compare(a.Return, b.Return) })
	h := of(ops...)
	h.Meta.Workers = 5
	return history{ops, h}
}
