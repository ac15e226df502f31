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

// This file checks what has to be equal in two searches.

// equalTallies requires equal counts and findings.
func equalTallies(x *trial, want, got came) {
	x.t.Helper()
	require.Equal(x.t, []any{want.tally, want.parts, want.stopped}, []any{got.tally, got.parts, got.stopped}, x.what)
}

// equalButPruning requires equal counterexamples. If the search looks up no states, it requires equal counts as well.
// Otherwise pieces know fewer states, so got may have more schedules.
func equalButPruning(x *trial, want, got came) {
	require.Equal(x.t, want.stopped, got.stopped, x.what)
	var a, b findings.Tally
	require.NoError(x.t, json.Unmarshal([]byte(want.tally), &a))
	require.NoError(x.t, json.Unmarshal([]byte(got.tally), &b))
	if x.spec.Random != nil || x.spec.WithoutMemory {
		require.Equal(x.t, a, b, x.what)
		return
	}
	sizes := func(t findings.Tally) (all []string) {
		for _, f := range t.Counterexamples {
			all = append(all, fmt.Sprint(f.Class, f.Length, findings.FaultsIn(f.Schedule)))
		}
		return all
	}
	require.Equal(x.t, sizes(a), sizes(b), x.what)
	require.GreaterOrEqual(x.t, b.Schedules, a.Schedules, x.what)
}

// equalHistories requires equal histories, to the microsecond.
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

// equalShown requires that two searches show the same outcomes, with the same orders in which operations can end and
// begin. If clients read clocks, operations may end earlier. Then got may show an order that contains the wanted one.
func equalShown(x *trial, want, got came) {
	every, some := showing(want.histories), showing(got.histories)
	every.in(x.t, some, strings.Contains(x.what, "CLOCK"), x.what+"\nit is lost:")
	some.in(x.t, every, false, x.what+"\nit is there only if some are left out:")
	require.LessOrEqual(x.t, got.schedules, want.schedules)
}

// endOf describes what a schedule showed: each client's operations and the content of the store.
func endOf(ops []harness.Op) string {
	var parts []string
	for _, op := range ops {
		parts = append(parts, fmt.Sprintf("%d %s %v %q %s", op.Client, op.Key, op.Outcome, op.Result, op.Err))
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

// precedence lists which operations had ended before which operations of other clients began. It leaves out work
// between operations, and operations that a crash ended before their first command.
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

// shown maps each outcome to the orders of operations in which it was shown.
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

// in fails unless other has every outcome and order of s. If more is true, an order that contains the one in s will do.
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
