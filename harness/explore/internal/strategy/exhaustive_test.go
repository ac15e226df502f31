package strategy

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// search runs all schedules of a toy program, and returns those that came to their end.
func (y toy) search(t *testing.T, unreduced bool) (ended [][]interleave.Choice) {
	t.Helper()
	for todo := []Branch{{}}; len(todo) > 0; {
		s := NewExhaustive(todo[len(todo)-1], unreduced)
		path, decision, err := y.schedule(t, s)
		require.NoError(t, err)
		todo = append(todo[:len(todo)-1], s.Planned...)
		if decision == Finish {
			ended = append(ended, path)
		}
	}
	return ended
}

// Of orders that differ only in independent steps, one is run.
func TestASearchRunsEachOrderOnce(t *testing.T) {
	for name, c := range map[string]struct {
		toy         toy
		all, orders int
	}{
		"two of two, one key":        {toy{steps: []int{2, 2}}, 6, 6},
		"two of two, a key each":     {toy{steps: []int{2, 2}, keys: []string{"a", "b"}}, 6, 1},
		"three, one key":             {toy{steps: []int{1, 1, 1}}, 6, 6},
		"three, two of them one key": {toy{steps: []int{2, 2, 2}, keys: []string{"a", "a", "b"}}, 90, 6},
		"two, and time passes":       {toy{steps: []int{1, 1}, budget: interleave.Budget{Expiries: 1}}, 10, 10},
		"two apart, and time passes": {
			toy{steps: []int{1, 1}, keys: []string{"a", "b"}, budget: interleave.Budget{Expiries: 1}}, 10, 7},
		"one alone":                   {toy{steps: []int{3}}, 1, 1},
		"three of three, a key each":  {toy{steps: []int{3, 3, 3}, keys: []string{"a", "b", "c"}}, 1680, 1},
		"nobody":                      {toy{}, 1, 1},
		"two that never meet, longer": {toy{steps: []int{4, 4}, keys: []string{"a", "b"}}, 70, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for unreduced, want := range map[bool]int{true: c.all, false: c.orders} {
				seen := map[string]bool{}
				for _, path := range c.toy.search(t, unreduced) {
					require.False(t, seen[InWords(path)], "twice: %s", InWords(path))
					seen[InWords(path)] = true
				}
				require.Len(t, seen, want, "unreduced: %v", unreduced)
			}
		})
	}
}

// If a search leaves out no orders, every schedule comes to its end. The cost of a branch is that of its prefix.
func TestABranchRunsToItsEndAndKnowsItsCost(t *testing.T) {
	y := toy{steps: []int{2, 2}}
	for todo := []Branch{{}}; len(todo) > 0; {
		b := todo[len(todo)-1]
		s := NewExhaustive(b, true)
		path, decision, err := y.schedule(t, s)
		require.NoError(t, err)
		require.Equal(t, Finish, decision, InWords(path))
		require.Equal(t, costOf(y, b.Prefix), b.Cost, InWords(b.Prefix))
		todo = append(todo[:len(todo)-1], s.Planned...)
	}
}

// costOf counts where an actor takes a step although the previous one could go on.
func costOf(y toy, path []interleave.Choice) (cost int) {
	left := slices.Clone(y.steps)
	for i, c := range path {
		if last := max(i-1, 0); path[last] != c && left[path[last].Number()] > 0 {
			cost++
		}
		left[c.Number()]--
	}
	return cost
}

func TestABranchEndsWhereOthersHaveBeen(t *testing.T) {
	v := &toyView{toy: toy{}, left: []int{1, 1}, visited: func(path []interleave.Choice) bool { return true }}
	s := NewExhaustive(Branch{}, false)
	_, decision, err := s.Next(v)
	require.NoError(t, err)
	require.Equal(t, Leave, decision)
	require.Empty(t, s.Planned)
}

func TestABranchWhoseClientsDoSomethingElseIsRefused(t *testing.T) {
	v := &toyView{left: []int{1, 1}, fingerprint: 2}
	_, _, err := NewExhaustive(Branch{Fingerprint: 1}, false).Next(v)
	require.ErrorIs(t, err, schedule.ErrNotRepeated)
	_, _, err = NewExhaustive(Branch{Fingerprint: 2}, false).Next(v)
	require.NoError(t, err)
	_, _, err = NewExhaustive(Branch{Fingerprint: 1}, false).Next(&toyView{left: []int{1, 1}})
	require.NoError(t, err, "memory knows none")
}

// A schedule in which replication stopped without a promotion is not judged, since it shows no failover.
func TestAFailoverThatNobodyCanTell(t *testing.T) {
	for _, s := range []Strategy{NewExhaustive(Branch{}, false), Draw(random(1), Shape{}), &First{LooksAtEnd: true}} {
		_, decision, err := s.Next(&toyView{unpromoted: true})
		require.NoError(t, err)
		require.Equal(t, Stop, decision, "%T", s)
		_, decision, err = s.Next(&toyView{})
		require.NoError(t, err)
		require.Equal(t, Finish, decision, "%T", s)
	}
}

// If the possible moves cannot be read, every strategy ends the schedule with the error.
func TestAnErrorOfAScheduleEndsEveryStrategy(t *testing.T) {
	broken := errors.New("broken")
	for _, s := range []Strategy{NewExhaustive(Branch{}, false), Draw(random(1), Shape{}), &First{}, &Follow{},
		&Replay{}, Alternate{}} {
		for _, left := range [][]int{nil, {1}} {
			_, decision, err := s.Next(&toyView{left: left, err: broken})
			require.ErrorIs(t, err, broken, "%T", s)
			require.Equal(t, Take, decision, "%T", s)
		}
	}
	_, _, err := NewExhaustive(Branch{}, false).Next(&toyView{left: []int{1}, visitedErr: broken})
	require.ErrorIs(t, err, broken)
}
