package checkers

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// A model that confused two states would find histories legal or illegal by chance.
func TestModelsTellStatesApart(t *testing.T) {
	asked := map[int]number{1: "5"}
	a, b := owner{1, "a"}, owner{2, "a"}
	for _, c := range []struct {
		name   string
		model  porcupine.Model
		states []any // pairwise different
		same   [2]any
	}{
		{"dedup", dedupModel(), []any{markState{1}, markState{1, 2}, markState(nil)},
			[2]any{markState{1, 2}, markState{1, 2}}},
		{"fence", fenceModel(), []any{fenceState{}, fenceState{top: "5"}, fenceState{top: "6"},
			fenceState{asked: asked}, fenceState{top: "5", asked: asked}},
			[2]any{fenceState{top: "5", asked: asked}, fenceState{top: "5", asked: map[int]number{1: "5"}}}},
		{"lock", lockModel(), []any{lockState{}, lockState{a, []int{1}}, lockState{b, []int{1}}, lockState{a, []int{2}},
			lockState{a, []int{1, 2}}},
			[2]any{lockState{a, []int{1}}, lockState{a, []int{1}}}},
		{"filter", filterModel(), []any{
			filterState{}, filterState{marks: markState{1}}, filterState{confirms: []int{1}},
			filterState{asked: map[int][]int{1: nil}}, filterState{asked: map[int][]int{2: nil}},
			filterState{asked: map[int][]int{1: {1}}}, filterState{asked: map[int][]int{1: {2}}},
			filterState{asked: map[int][]int{1: {1}, 2: {1}}},
		}, [2]any{filterState{asked: map[int][]int{1: {1}, 2: {2}}},
			filterState{asked: map[int][]int{1: {1}, 2: {2}}}}},
	} {
		for i, x := range c.states {
			for j, y := range c.states {
				require.Equal(t, i == j, c.model.Equal(x, y), "%s: %v and %v", c.name, x, y)
			}
		}
		require.True(t, c.model.Equal(c.same[0], c.same[1]), c.name)
	}
}

func TestStatesHaveNames(t *testing.T) {
	require.Equal(t, "new", dedupModel().DescribeState(markState(nil)))
	require.Equal(t, "free", lockModel().DescribeState(lockState{}))
	require.Equal(t, "held by worker 1 with a",
		lockModel().DescribeState(lockState{owner: owner{1, "a"}, holds: []int{1}}))
	require.Equal(t, "marked by [1 2]", dedupModel().DescribeState(markState{1, 2}))
}

// The model's operations are those that mark a message, and the ends of their windows.
func TestDedupOperations(t *testing.T) {
	for n, ops := range map[int]int{1: 0, 2: 5} {
		c := claim(0, 1, 2, time.Duration(ops))
		h := of(c, seen(claim(1, 3, 4, 5)), fail(confirm(2, 3, 4, 5)), info(claim(1, 5, 6, 5)))
		require.Len(t, dedupOperations(opsIn(h), h.Meta), n)
	}
}

// Operations without an end get one after everything else.
func TestEndsOfSteps(t *testing.T) {
	steps := withEnds([]porcupine.Operation{{Call: 1, Return: 5}, {Call: 3, Return: int64(forever)}})
	require.Equal(t, []int64{5, 6}, []int64{steps[0].Return, steps[1].Return})
	steps = withEnds([]porcupine.Operation{{Call: 1, Return: 5}, {Call: 7, Return: int64(forever)}})
	require.Equal(t, []int64{5, 8}, []int64{steps[0].Return, steps[1].Return})
}
