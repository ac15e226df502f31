// Package visited remembers the states that a search's schedules have reached. Callers describe a state; the package
// stores its hash.
package visited

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// MostStates bounds the states of a part, of about 50 bytes each. Beyond it no more are stored, and what follows a
// state is explored again, which only costs time.
const MostStates = 8_000_000

// Table is a set of states. It is safe for concurrent use.
type Table struct {
	mu          sync.Mutex
	seen        map[ID]struct{}
	tracksFresh bool // new states are also listed in fresh
	fresh       []ID // states added by Visit
}

// NewTable returns a table with known states. With tracksFresh it also keeps a list of new ones, for Fresh.
func NewTable(tracksFresh bool, known ...ID) *Table {
	t := &Table{seen: make(map[ID]struct{}, len(known)), tracksFresh: tracksFresh}
	t.AddKnown(known)
	return t
}

// AddKnown adds states that others have reached.
func (t *Table) AddKnown(all []ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range all {
		t.seen[id] = struct{}{}
	}
}

// Visit reports whether a state is known. If not, the state counts as known from then on.
func (t *Table) Visit(id ID) (known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known = t.seen[id]; known || len(t.seen) >= MostStates {
		return known
	}
	t.seen[id] = struct{}{}
	if t.tracksFresh {
		t.fresh = append(t.fresh, id)
	}
	return false
}

// Forget removes states, since the schedule that reached them failed, and what follows them was not run.
func (t *Table) Forget(all []ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range all {
		delete(t.seen, id)
	}
	t.fresh = slices.DeleteFunc(t.fresh, func(id ID) bool { return slices.Contains(all, id) })
}

// Fresh returns the states that Visit has added, sorted.
func (t *Table) Fresh() []ID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Sort(slices.Clone(t.fresh))
}

// Sorted returns all states, sorted.
func (t *Table) Sorted() []ID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Sort(slices.Collect(maps.Keys(t.seen)))
}

// ID is the hash of a state, or of a part of one.
type ID [2]uint64

// IDOf returns the hash of a state's description.
func IDOf(b []byte) ID {
	var second xxhash.Digest
	second.ResetWithSeed(1)
	_, _ = second.Write(b) // never fails
	return ID{xxhash.Sum64(b), second.Sum64()}
}

// AppendID appends a hash to a state's description.
func AppendID(b []byte, id ID) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, id[0]), id[1])
}

// AppendText appends a text to a state's description.
func AppendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendInts appends numbers to a state's description.
func AppendInts[T ~int | ~int64 | ~uint8 | ~uint16](b []byte, all ...T) []byte {
	for _, n := range all {
		b = binary.AppendVarint(b, int64(n))
	}
	return b
}

// AppendBools appends booleans to a state's description.
func AppendBools(b []byte, all ...bool) []byte {
	for _, yes := range all {
		if yes {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

// stateSize is the size of an encoded state, in bytes.
const stateSize = 16

// Encode writes states in the given order.
func Encode(all []ID) []byte {
	b := make([]byte, 0, stateSize*len(all))
	for _, id := range all {
		b = AppendID(b, id)
	}
	return b
}

// Check returns an error if b is not a result of Encode.
func Check(b []byte) error {
	if len(b)%stateSize > 0 {
		return fmt.Errorf("%d bytes of states: each has %d", len(b), stateSize)
	}
	return nil
}

// Decode reads what Encode wrote.
func Decode(b []byte) []ID {
	all := make([]ID, 0, len(b)/stateSize)
	for ; len(b) > 0; b = b[stateSize:] {
		all = append(all, ID{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])})
	}
	return all
}

// Sort sorts states and removes duplicates.
func Sort(all []ID) []ID {
	slices.SortFunc(all, func(a, b ID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(all)
}
