package explore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
)

// This file holds what has to be equal of two searches that are compared.

// equalTallies wants all that is counted and found.
func equalTallies(x *trial, want, got came) {
	x.t.Helper()
	require.Equal(x.t, []any{want.tally, want.parts, want.stopped}, []any{got.tally, got.parts, got.stopped}, x.what)
}

// equalButPruning wants the same counterexamples. Pieces know fewer states; where none is known all counts are the
// same.
func equalButPruning(x *trial, want, got came) {
	require.Equal(x.t, want.stopped, got.stopped, x.what)
	var a, b findings.Tally
	require.NoError(x.t, json.Unmarshal([]byte(want.tally), &a))
	require.NoError(x.t, json.Unmarshal([]byte(got.tally), &b))
	if x.spec.Random != nil || x.spec.Unremembered {
		require.Equal(x.t, a, b, x.what)
		return
	}
	sizes := func(t findings.Tally) (all []string) {
		for _, f := range t.Found {
			all = append(all, fmt.Sprint(f.Class, f.Length, findings.FaultsIn(f.Schedule)))
		}
		return all
	}
	require.Equal(x.t, sizes(a), sizes(b), x.what)
	require.GreaterOrEqual(x.t, b.Schedules, a.Schedules, x.what)
}

// equalHistories wants the same histories, to the last microsecond.
func equalHistories(x *trial, want, got came) {
	all := func(c came) (texts []string) {
		for _, ops := range c.histories {
			texts = append(texts, fmt.Sprintf("%+v", ops))
		}
		slices.Sort(texts)
		return texts
	}
	require.Empty(x.t, got.broken, x.what)
	require.Equal(x.t, all(want), all(got), x.what)
}

// equalShown wants all that the clients of a program can see and leave in the store, and every order in which their
// operations can end and begin. A violation in one order is a violation in another that has it. Where clients look at
// clocks operations may end earlier, so there such an order is enough.
func equalShown(x *trial, want, got came) {
	every, some := showing(want.histories), showing(got.histories)
	every.in(x.t, some, strings.Contains(x.what, "CLOCK"), x.what+"\nit is lost:")
	some.in(x.t, every, false, x.what+"\nit is there only if some are left out:")
	require.LessOrEqual(x.t, got.schedules, want.schedules)
}

// endOf holds what a schedule showed: the operations of each client and the contents of the store.
func endOf(ops []harness.Op) string {
	var parts []string
	for _, op := range ops {
		parts = append(parts, fmt.Sprintf("%d %s %v %q %s", op.Client, op.Key, op.Outcome, op.Result, op.Err))
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

// precedence tells which operations of clients had ended before which operations of others began. It leaves out times,
// the begin of an operation that a crash ended before its first command, and work between two operations.
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

func showing(histories [][]harness.Op) shown {
	set := shown{}
	for _, ops := range histories {
		o, order := endOf(ops), precedence(ops)
		if set[o] == nil {
			set[o] = map[string][]string{}
		}
		set[o][strings.Join(order, "\n")] = order
	}
	return set
}

// in fails unless other has all that s has. With more, an order that contains it is enough.
func (s shown) in(t *testing.T, other shown, more bool, message string) {
	t.Helper()
	for o, orders := range s {
		for text, order := range orders {
			_, has := other[o][text]
			for _, wider := range other[o] {
				has = has || more && !slices.ContainsFunc(order, func(pair string) bool {
					return !slices.Contains(wider, pair)
				})
			}
			require.True(t, has, "%s\n%s\n%s", message, o, text)
		}
	}
}
