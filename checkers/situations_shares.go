package checkers

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// situationsOfShares counts the situations inside each generator's share of the workers. Only times by one clock are
// exact relative to each other: operations of two generators may seem to overlap because their times were widened. A
// run in one process is one share.
type situationsOfShares struct {
	shares []harness.Share
	bound  time.Duration // upper bound of how much an operation was widened
	all    []*Situations // one counter for each share
	ok     []bool        // for each share, whether an operation was ok

	restarts []*restart // restarts of primaries, common to all shares
}

func newSituationsOfShares(h harness.History) situationsOfShares {
	shares := harness.Shares(h.Meta.Workers, max(1, h.Meta.Generators))
	s := situationsOfShares{shares: shares, bound: widestClockBound(h.Events), restarts: restartsOf(h)}
	for range s.shares {
		one := NewSituations(h.Meta)
		one.restarts = s.restarts
		s.all = append(s.all, one)
	}
	s.ok = make([]bool, len(s.shares))
	return s
}

// Op counts the situations that x, the next operation of a client, brings about in its share.
func (s situationsOfShares) Op(x harness.Op) {
	i := 0
	if len(s.shares) > 1 {
		worker := s.all[0].meta.Worker(x.Client)
		i = max(0, slices.IndexFunc(s.shares, func(share harness.Share) bool { return worker < share.End }))
	}
	s.ok[i] = s.ok[i] || x.Outcome == harness.OK
	x.Call = min(x.Return, x.Call+s.bound) // Undoes what widened x, all later by the clocks' uncertainty.
	s.all[i].Op(x)
}

// Count returns how often a situation was met in all shares.
func (s situationsOfShares) Count(name harness.SituationName) (n int) {
	for _, one := range s.all {
		n += one.Count(name)
	}
	return n
}

// List adds up the lists of all shares.
func (s situationsOfShares) List() (sum []harness.Situation) {
	for _, one := range s.all {
		for _, met := range one.List() {
			i := slices.IndexFunc(sum, func(x harness.Situation) bool { return x.Name == met.Name })
			switch {
			case i < 0:
				sum = append(sum, met)
			case sum[i].Count == 0:
				sum[i] = met
			default:
				sum[i].Count += met.Count
			}
		}
	}
	return sum
}

// idleShares returns a reason for Unknown for each generator without an ok operation.
func (s situationsOfShares) idleShares() (doubts []string) {
	for i, ok := range s.ok {
		if !ok && len(s.shares) > 1 {
			doubts = append(doubts, fmt.Sprintf("no operation of generator %d was ok", i+1))
		}
	}
	return doubts
}
