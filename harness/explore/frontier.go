package explore

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file writes down the work that is left of a part of a search: its frontier.

// savedItem is an item that is written down.
type savedItem struct {
	Prefix      savedSchedule `json:"prefix"`
	Fingerprint uint64        `json:"fingerprint,omitempty"`
	Cost        int           `json:"cost,omitempty"`
	Asleep      []savedMove   `json:"asleep,omitempty"`
}

// savedMove is a move of a sleep set that is written down. Keys may hold any bytes.
type savedMove struct {
	Choice uint16   `json:"choice"`
	Flags  uint16   `json:"flags,omitempty"`
	Reads  [][]byte `json:"reads,omitempty"`
	Writes [][]byte `json:"writes,omitempty"`
}

// flags lists what a move is beside its choice and its keys. New ones come last.
func (m *move) flags() []*bool {
	return []*bool{
		&m.world, &m.timePasses, &m.approaches, &m.timely, &m.begins, &m.ends, &m.silent, &m.observes,
		&m.access.Everything, &m.access.Scripts, &m.access.TTL,
	}
}

func saveItem(it item) savedItem {
	saved := savedItem{Prefix: it.prefix, Fingerprint: it.fingerprint, Cost: it.cost}
	for _, m := range it.sleepSet {
		s := savedMove{Choice: uint16(m.choice), Reads: saveKeys(m.access.Reads), Writes: saveKeys(m.access.Writes)}
		for i, set := range m.flags() {
			if *set {
				s.Flags |= 1 << i
			}
		}
		saved.Asleep = append(saved.Asleep, s)
	}
	return saved
}

func (saved savedItem) item() item {
	it := item{prefix: saved.Prefix, fingerprint: saved.Fingerprint, cost: saved.Cost}
	for _, s := range saved.Asleep {
		m := &move{choice: interleave.Choice(s.Choice), access: command.Access{Reads: readKeys(s.Reads), Writes: readKeys(s.Writes)}}
		for i, set := range m.flags() {
			*set = s.Flags&(1<<i) > 0
		}
		it.sleepSet = append(it.sleepSet, m)
	}
	return it
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

// saveQueue returns the planned items, those of one cost in the order in which they were planned: read back, the same one comes next.
// The caller holds s.mu, or nobody works.
func (s *search) saveQueue() (all []savedItem) {
	for _, items := range s.queue {
		for _, it := range items {
			all = append(all, saveItem(it))
		}
	}
	return all
}

func readItems(all []savedItem) []item {
	items := make([]item, len(all))
	for i, saved := range all {
		items[i] = saved.item()
	}
	return items
}

// checkItems returns an error if the items cannot be of a search with that budget.
func checkItems(all []savedItem, b interleave.Budget) error {
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
