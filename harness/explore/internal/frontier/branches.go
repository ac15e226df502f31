package frontier

import (
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Branches is the source of a search that runs every schedule. It hands out the branch with the fewest preemptions and
// faults first. Among equals the last planned comes first.
type Branches struct {
	byCost    [][]strategy.Branch
	planned   int
	unreduced bool
}

// NewBranches returns an empty source. If unreduced is true, schedules that differ only in the order of independent
// moves are planned as well.
func NewBranches(unreduced bool) *Branches { return &Branches{unreduced: unreduced} }

// Plan adds branches.
func (f *Branches) Plan(all ...strategy.Branch) {
	for _, b := range all {
		for len(f.byCost) <= b.Cost {
			f.byCost = append(f.byCost, nil)
		}
		f.byCost[b.Cost] = append(f.byCost[b.Cost], b)
	}
	f.planned += len(all)
}

// Planned counts the planned branches.
func (f *Branches) Planned() int { return f.planned }

// Count counts the branches whose prefix has a choice that passes the given test.
func (f *Branches) Count(matches func(interleave.Choice) bool) (n int) {
	for _, all := range f.byCost {
		for _, b := range all {
			if slices.ContainsFunc(b.Prefix, matches) {
				n++
			}
		}
	}
	return n
}

// Next takes the next branch.
func (f *Branches) Next() (Job, bool) {
	b, ok := f.take()
	if !ok {
		return nil, false
	}
	return &branchJob{from: f, branch: b}, true
}

func (f *Branches) take() (b strategy.Branch, ok bool) {
	for cost, all := range f.byCost {
		if n := len(all) - 1; n >= 0 {
			b, f.byCost[cost] = all[n], all[:n]
			f.planned--
			return b, true
		}
	}
	return b, false
}

// branchJob is the first schedule of a branch.
type branchJob struct {
	from   *Branches
	branch strategy.Branch
	last   *strategy.Exhaustive
}

func (j *branchJob) Strategy() strategy.Strategy {
	j.last = strategy.NewExhaustive(j.branch, j.from.unreduced)
	return j.last
}

func (j *branchJob) Done() { j.from.Plan(j.last.Planned...) }

func (j *branchJob) PutBack() { j.from.Plan(j.branch) }

func (j *branchJob) Draw() (none findings.Draw) { return none }
