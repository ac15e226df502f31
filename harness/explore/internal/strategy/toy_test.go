package strategy

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// toy is a program without Redis. Each actor has some steps, which write the actor's key. If the budget has an expiry,
// time can pass to one of two ends of leases until all are done. A step costs 1 if the previous actor could have gone
// on.
type toy struct {
	steps  []int
	keys   []string // by actor; for further actors: one key for all
	budget interleave.Budget
}

func (y toy) length() (n int) {
	for _, s := range y.steps {
		n += s
	}
	return n + y.budget.Expiries
}

// schedule runs one schedule with a strategy.
func (y toy) schedule(t *testing.T, s Strategy) (path []interleave.Choice, end Decision, err error) {
	t.Helper()
	v := &toyView{toy: y, left: slices.Clone(y.steps), expiries: y.budget.Expiries}
	for {
		c, decision, err := s.Next(v)
		if decision != Take || err != nil {
			return v.path, decision, err
		}
		moves, err := v.Moves()
		require.NoError(t, err)
		i := slices.IndexFunc(moves, func(m schedule.Move) bool { return m.Choice == c })
		require.GreaterOrEqual(t, i, 0, "%v is not possible after %v", c, v.path)
		v.path = append(v.path, c)
		if i, ok := c.Client(); ok {
			v.left[i]--
		} else {
			v.expiries--
		}
		s.Took(moves[i])
	}
}

// toyView is a schedule of a toy under way.
type toyView struct {
	toy
	left        []int
	expiries    int
	path        []interleave.Choice
	fingerprint uint64
	visited     func([]interleave.Choice) bool // nil: no state was visited
	unpromoted  bool
	disturbed   bool
	err         error // returned by Moves and Instants
	visitedErr  error
}

func (v *toyView) Path() []interleave.Choice                 { return v.path }
func (v *toyView) Fingerprint() uint64                       { return v.fingerprint }
func (v *toyView) FingerprintAfter(interleave.Choice) uint64 { return v.fingerprint }
func (v *toyView) Unpromoted() bool                          { return v.unpromoted }
func (v *toyView) Disturbed() bool                           { return v.disturbed }

func (v *toyView) Visit([]*schedule.Move) (bool, error) {
	return v.visited != nil && v.visited(v.path), v.visitedErr
}

func (v *toyView) Instants() ([]schedule.Instant, error) {
	return []schedule.Instant{{Choice: interleave.Pass(0), At: 1, BeyondEnd: true},
		{Choice: interleave.Pass(1), At: 2, BeyondEnd: true}}, v.err
}

func (v *toyView) Moves() (moves []schedule.Move, err error) {
	last := -1 // actor of the last step, if it can go on
	if len(v.path) > 0 {
		if i, ok := v.path[len(v.path)-1].Client(); ok && v.left[i] > 0 {
			last = i
		}
	}
	for i, n := range v.left {
		key := "k"
		if i < len(v.keys) {
			key = v.keys[i]
		}
		if n > 0 {
			m := schedule.Move{Choice: interleave.Run(i), Access: command.Access{Writes: []string{key}}}
			if last >= 0 && last != i {
				m.Cost = 1
			}
			moves = append(moves, m)
		}
	}
	if len(moves) > 0 && v.expiries > 0 {
		moves = append(moves, schedule.Move{Choice: interleave.Pass(0), World: true},
			schedule.Move{Choice: interleave.Pass(1), World: true})
	}
	return moves, v.err
}
