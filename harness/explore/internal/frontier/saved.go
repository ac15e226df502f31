package frontier

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Saved is the serialised form of a branch.
type Saved struct {
	Prefix      findings.Schedule `json:"prefix"`
	Fingerprint uint64            `json:"fingerprint,omitempty"`
	Cost        int               `json:"cost,omitempty"`
	Asleep      []savedMove       `json:"asleep,omitempty"`
}

// savedMove is the serialised form of a move in a sleep set. Keys may hold any bytes.
type savedMove struct {
	Choice uint16   `json:"choice"`
	Flags  uint16   `json:"flags,omitempty"`
	Reads  [][]byte `json:"reads,omitempty"`
	Writes [][]byte `json:"writes,omitempty"`
}

// flagsOf lists the flags of a move in the order of their bits. Add new ones at the end.
func flagsOf(m *schedule.Move) []*bool {
	return []*bool{
		&m.World, &m.TimePasses, &m.Approaches, &m.DependsOnTime, &m.Begins, &m.Ends, &m.Silent, &m.Observes,
		&m.Access.Everything, &m.Access.Scripts, &m.Access.TTL,
	}
}

func saveBranch(b strategy.Branch) Saved {
	saved := Saved{Prefix: b.Prefix, Fingerprint: b.Fingerprint, Cost: b.Cost}
	for _, m := range b.SleepSet {
		s := savedMove{
			Choice: uint16(m.Choice), Reads: converted[[]byte](m.Access.Reads),
			Writes: converted[[]byte](m.Access.Writes),
		}
		for i, set := range flagsOf(m) {
			if *set {
				s.Flags |= 1 << i
			}
		}
		saved.Asleep = append(saved.Asleep, s)
	}
	return saved
}

func (saved Saved) branch() strategy.Branch {
	b := strategy.Branch{Prefix: saved.Prefix, Fingerprint: saved.Fingerprint, Cost: saved.Cost}
	for _, s := range saved.Asleep {
		m := &schedule.Move{Choice: interleave.Choice(s.Choice),
			Access: command.Access{Reads: converted[string](s.Reads), Writes: converted[string](s.Writes)}}
		for i, set := range flagsOf(m) {
			*set = s.Flags&(1<<i) > 0
		}
		b.SleepSet = append(b.SleepSet, m)
	}
	return b
}

// Save returns all branches, in an order from which PlanSaved makes the same queue.
func (f *Branches) Save() (all []Saved) {
	for _, branches := range f.byCost {
		for _, b := range branches {
			all = append(all, saveBranch(b))
		}
	}
	return all
}

// TakeSaved takes up to n of the next branches.
func (f *Branches) TakeSaved(n int) (all []Saved) {
	for range n {
		b, ok := f.take()
		if !ok {
			break
		}
		all = append(all, saveBranch(b))
	}
	return all
}

// PlanSaved adds saved branches.
func (f *Branches) PlanSaved(all []Saved) {
	for _, saved := range all {
		f.Plan(saved.branch())
	}
}

// CheckSaved returns an error if the branches cannot belong to a search with that budget.
func CheckSaved(all []Saved, b interleave.Budget) error {
	for _, it := range all {
		if it.Cost < 0 || it.Cost > schedule.MaxSteps || len(it.Prefix) > schedule.MaxSteps {
			return fmt.Errorf("a branch of cost %d with %d steps", it.Cost, len(it.Prefix))
		}
		for _, c := range it.Prefix {
			if i, ok := c.Client(); ok && i >= b.Clients || c.String() == "" {
				return fmt.Errorf("a step %q of one of %d clients", c, b.Clients)
			}
		}
	}
	return nil
}

// converted turns strings into byte slices, or back. JSON keeps arbitrary bytes only in a []byte.
func converted[To, From string | []byte](all []From) (out []To) {
	for _, one := range all {
		out = append(out, To(one))
	}
	return out
}
