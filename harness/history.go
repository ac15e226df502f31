package harness

import (
	"iter"
	"slices"
	"sync"
	"time"
)

// Meta describes the run behind a history, for checkers and readers.
type Meta struct {
	Name    string    `json:"name"`
	Seed    uint64    `json:"seed"`
	Started time.Time `json:"started"`
	Workers int       `json:"workers"` // number of concurrent clients, riders included
	Groups  int       `json:"groups"`  // number of client groups; worker w is in group w mod Groups
	Clients int       `json:"clients"` // number of workers of the main workload; the rest are riders
	Kinds   []Kind    `json:"kinds"`   // kinds that the workloads promise to record
	// Rate is how many steps a second all workers together should begin; 0: as many as they can.
	Rate   float64           `json:"rate"`
	Open   bool              `json:"open,omitempty"`   // whether the load is open-loop; if so, operations have a Due
	Drift  float64           `json:"drift"`            // fraction by which a clock may run too fast or too slow
	Labels map[string]string `json:"labels,omitempty"` // variant, topology and the like, for reports

	// Widened says that clocks other than the run's have measured Calls and Returns (see Generator), and that each
	// interval was widened by the uncertainty of those clocks. So the intervals of two consecutive operations of a
	// worker may overlap. A worker's operations still are in order, by their Calls and by their Returns.
	Widened bool `json:"widened,omitempty"`

	Generators int `json:"generators,omitempty"` // number of Generators that drove workers; 0: the harness drove all

	Situations []SituationName `json:"situations,omitempty"` // situations that the workloads promise to cause
}

// HarnessClient is the client id of operations that the harness itself performs, such as a final read.
const HarnessClient = -1

// Worker returns the worker that a client id belongs to. After an operation that ended in Info a worker continues under
// a new id: the old one plus Workers.
func (m Meta) Worker(client int) int {
	if m.Workers == 0 || client < 0 {
		return client
	}
	return client % m.Workers
}

// Group returns the client group of a client id.
func (m Meta) Group(client int) int {
	if m.Groups == 0 || client < 0 {
		return 0
	}
	return m.Worker(client) % m.Groups
}

// End is the last record of a history.
type End struct {
	At     time.Duration `json:"at"`
	Reason string        `json:"reason,omitempty"` // why the run ended early; empty: the run was not cut short
}

// History is a recorded run. Ops can be ranged over several times, and come in order of Return. An error ends the
// range.
type History struct {
	Meta   Meta
	Ops    iter.Seq2[Op, error]
	Faults []Fault
	Events []Event
	End    *End // nil: the record stops before the end of the run
}

// Store keeps a history while the run goes on. Its methods are never called concurrently. Operations come in order of
// Return.
type Store interface {
	WriteMeta(Meta) error
	WriteOps([]Op) error
	WriteEvent(Event) error
	WriteFault(Fault) error // called again when the record of a fault changes: see WithFault
	WriteEnd(End) error
	Close() error              // makes everything that was written readable
	History() (History, error) // valid after Close
}

// NewMemory returns a Store that keeps everything in memory, for tests and short runs.
func NewMemory() Store { return &memoryHistory{} }

type memoryHistory struct {
	mu  sync.Mutex
	h   History
	ops []Op
}

func (m *memoryHistory) WriteMeta(meta Meta) error { return m.withLock(func() { m.h.Meta = meta }) }
func (m *memoryHistory) WriteOps(ops []Op) error {
	return m.withLock(func() { m.ops = append(m.ops, ops...) })
}
func (m *memoryHistory) WriteEvent(e Event) error {
	return m.withLock(func() { m.h.Events = append(m.h.Events, e) })
}
func (m *memoryHistory) WriteFault(f Fault) error {
	return m.withLock(func() { m.h.Faults = WithFault(m.h.Faults, f) })
}
func (m *memoryHistory) WriteEnd(e End) error { return m.withLock(func() { m.h.End = &e }) }
func (m *memoryHistory) Close() error         { return nil }

func (m *memoryHistory) withLock(f func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	return nil
}

func (m *memoryHistory) History() (History, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.h
	h.Faults = slices.Clone(h.Faults) // WriteFault replaces records in place
	h.Ops = OpsOf(slices.Clip(m.ops))
	return h, nil
}

// OpsOf returns a sequence of ops. It is for histories in memory, such as those of tests.
func OpsOf(ops []Op) iter.Seq2[Op, error] {
	return func(yield func(Op, error) bool) {
		for _, op := range ops {
			if !yield(op, nil) {
				return
			}
		}
	}
}
