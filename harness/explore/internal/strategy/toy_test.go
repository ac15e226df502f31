package strategy

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// toy is a program without Redis: each actor has so many steps, each of which writes the actor's key. Until all are
// done time can pass, if the budget has an expiry, to one of two ends of leases. It costs 1 to let another actor go on
// than the one that could.
type toy struct {
	steps  []int
	keys   []string // by actor; beyond its end: all write one
	budget interleave.Budget
}

func (y toy) length() (n int) {
	for _, s := range y.steps {
		n += s
	}
	return n + y.budget.Expiries
}

// schedule runs one schedule as a strategy says.
func (y toy) schedule(t *testing.T, s Strategy) (path []interleave.Choice, end Do, err error) {
	t.Helper()
	v := &toyView{toy: y, left: slices.Clone(y.steps), expiries: y.budget.Expiries}
	for {
		c, do, err := s.Next(v)
		if do != Take || err != nil {
			return v.path, do, err
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
	visited     func([]interleave.Choice) bool // nil: no state is known
	unpromoted  bool
	disturbed   bool
	err         error // of Moves and Instants
	visitedErr  error
}

func (v *toyView) Path() []interleave.Choice                 { return v.path }
func (v *toyView) Fingerprint() uint64                       { return v.fingerprint }
func (v *toyView) FingerprintAfter(interleave.Choice) uint64 { return v.fingerprint }
func (v *toyView) Unpromoted() bool                          { return v.unpromoted }
func (v *toyView) Disturbed() bool                           { return v.disturbed }

func (v *toyView) Visited([]*schedule.Move) (bool, error) {
	return v.visited != nil && v.visited(v.path), v.visitedErr
}

func (v *toyView) Instants() ([]schedule.Instant, error) {
	return []schedule.Instant{{Choice: interleave.Pass(0), At: 1, BeyondEnd: true},
		{Choice: interleave.Pass(1), At: 2, BeyondEnd: true}}, v.err
}

func (v *toyView) Moves() (moves []schedule.Move, err error) {
	last := -1 // actor of the last step, if it could go on
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
