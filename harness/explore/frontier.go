package explore

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file writes down the work that is left of a part of a search: its frontier.

// savedBranch is a branch that is written down.
type savedBranch struct {
	Prefix      findings.Schedule `json:"prefix"`
	Fingerprint uint64            `json:"fingerprint,omitempty"`
	Cost        int               `json:"cost,omitempty"`
	Asleep      []savedMove       `json:"asleep,omitempty"`
}

// savedMove is a move of a sleep set that is written down. Keys may hold any bytes.
type savedMove struct {
	Choice uint16   `json:"choice"`
	Flags  uint16   `json:"flags,omitempty"`
	Reads  [][]byte `json:"reads,omitempty"`
	Writes [][]byte `json:"writes,omitempty"`
}

// flagsOf lists what a move is beside its choice and its keys. New ones come last.
func flagsOf(m *schedule.Move) []*bool {
	return []*bool{
		&m.World, &m.TimePasses, &m.Approaches, &m.Timely, &m.Begins, &m.Ends, &m.Silent, &m.Observes,
		&m.Access.Everything, &m.Access.Scripts, &m.Access.TTL,
	}
}

func saveBranch(b strategy.Branch) savedBranch {
	saved := savedBranch{Prefix: b.Prefix, Fingerprint: b.Fingerprint, Cost: b.Cost}
	for _, m := range b.SleepSet {
		s := savedMove{Choice: uint16(m.Choice), Reads: saveKeys(m.Access.Reads), Writes: saveKeys(m.Access.Writes)}
		for i, set := range flagsOf(m) {
			if *set {
				s.Flags |= 1 << i
			}
		}
		saved.Asleep = append(saved.Asleep, s)
	}
	return saved
}

func (saved savedBranch) branch() strategy.Branch {
	b := strategy.Branch{Prefix: saved.Prefix, Fingerprint: saved.Fingerprint, Cost: saved.Cost}
	for _, s := range saved.Asleep {
		m := &schedule.Move{Choice: interleave.Choice(s.Choice), Access: command.Access{Reads: readKeys(s.Reads), Writes: readKeys(s.Writes)}}
		for i, set := range flagsOf(m) {
			*set = s.Flags&(1<<i) > 0
		}
		b.SleepSet = append(b.SleepSet, m)
	}
	return b
}

func saveKeys(keys []string) (all [][]byte) {
	for _, k := range keys {
		all = append(all, []byte(k))
	}
	return all
}

func readKeys(all [][]byte) (keys []string) {
	for _, k := range all {
		keys = append(keys, string(k))
	}
	return keys
}

// saveQueue returns the planned branches, those of one cost in the order in which they were planned: read back, the same one comes next.
// The caller holds s.mu, or nobody works.
func (s *search) saveQueue() (all []savedBranch) {
	for _, branches := range s.queue {
		for _, b := range branches {
			all = append(all, saveBranch(b))
		}
	}
	return all
}

func readBranches(all []savedBranch) []strategy.Branch {
	branches := make([]strategy.Branch, len(all))
	for i, saved := range all {
		branches[i] = saved.branch()
	}
	return branches
}

// checkBranches returns an error if the items cannot be of a search with that budget.
func checkBranches(all []savedBranch, b interleave.Budget) error {
	for _, it := range all {
		if it.Cost < 0 || it.Cost > maxSteps || len(it.Prefix) > maxSteps {
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
