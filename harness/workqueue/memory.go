package workqueue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a queue inside one process: it ends with the process. Each worker has a view of its own, see As.
type Memory struct {
	lease time.Duration

	mu       sync.Mutex
	changed  chan struct{} // closed, and made anew, at each change that somebody may wait for
	over     bool
	waiting  []*entry // units to be handed out, in order
	out      map[*entry]*memoryJob
	entries  map[string]*entry
	outcomes map[string]Outcome
	disputed map[string]bool
}

// entry is a unit that was put.
type entry struct {
	Unit
	id     string
	failed []string // what became of each try
}

// NewMemory returns an empty queue. A worker that says nothing for so long as lease (0: 30s) loses its unit.
func NewMemory(lease time.Duration) *Memory {
	if lease <= 0 {
		lease = DefaultLease
	}
	return &Memory{lease: lease, changed: make(chan struct{}), out: map[*entry]*memoryJob{}, entries: map[string]*entry{}, outcomes: map[string]Outcome{}, disputed: map[string]bool{}}
}

// DefaultLease is how long a worker may say nothing before its unit goes to another.
const DefaultLease = 30 * time.Second

// As returns the queue as the worker of that name has it.
func (m *Memory) As(worker string) Queue { return memoryView{m, worker} }

// memoryView is the queue in the hands of one worker, or of the coordinator.
type memoryView struct {
	*Memory
	worker string
}

func (m *Memory) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// Put is Queue's.
func (m *Memory) Put(ctx context.Context, u Unit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	id := u.ID()
	if m.entries[id] != nil {
		return nil
	}
	e := &entry{Unit: u, id: id}
	m.entries[id] = e
	m.waiting = append(m.waiting, e)
	m.wake()
	return nil
}

// Await is Queue's.
func (m *Memory) Await(ctx context.Context, id string) (Outcome, error) {
	for {
		m.mu.Lock()
		o, there := m.outcomes[id]
		changed := m.changed
		m.mu.Unlock()
		if there {
			return o, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Outcome{}, ctx.Err()
		}
	}
}

// Disputed is Queue's.
func (m *Memory) Disputed(ctx context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.disputed)), ctx.Err()
}

// End is Queue's.
func (m *Memory) End(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	m.wake()
	return ctx.Err()
}

// Take is Queue's.
func (v memoryView) Take(ctx context.Context) (Job, error) {
	for {
		job, changed, next, err := v.tryTake(time.Now())
		if job != nil || err != nil {
			return job, err
		}
		expiry := time.NewTimer(next)
		select {
		case <-changed:
		case <-expiry.C:
		case <-ctx.Done():
			expiry.Stop()
			return nil, ctx.Err()
		}
		expiry.Stop()
	}
}

// tryTake hands a unit out if one waits. Otherwise it returns what to wait for: a change, and the time until the next lease ends.
func (v memoryView) tryTake(now time.Time) (job Job, changed <-chan struct{}, next time.Duration, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return nil, nil, 0, ErrOver
	}
	next = v.lease
	for e, j := range v.out {
		if left := j.until.Sub(now); left > 0 {
			next = min(next, left)
			continue
		}
		v.failed(e, fmt.Sprintf("%s said nothing for %v", j.worker, v.lease))
	}
	if len(v.waiting) == 0 {
		return nil, v.changed, next, nil
	}
	e := v.waiting[0]
	v.waiting = v.waiting[1:]
	j := &memoryJob{v.Memory, e, v.worker, now.Add(v.lease)}
	v.out[e] = j
	return j, nil, 0, nil
}

// failed notes that a try came to nothing. The caller holds m.mu.
func (m *Memory) failed(e *entry, why string) {
	delete(m.out, e)
	e.failed = append(e.failed, why)
	if _, there := m.outcomes[e.id]; there {
		return
	}
	if len(e.failed) < Tries {
		m.waiting = append(m.waiting, e)
	} else {
		m.outcomes[e.id] = Outcome{Failed: e.failed}
	}
	m.wake()
}

// memoryJob is a unit that was handed out.
type memoryJob struct {
	m      *Memory
	e      *entry
	worker string
	until  time.Time // end of the lease
}

func (j *memoryJob) Unit() Unit { return j.e.Unit }

// holds reports whether the worker still has its lease. The caller holds m.mu.
func (j *memoryJob) holds() bool { return j.m.out[j.e] == j }

func (j *memoryJob) Alive(ctx context.Context) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	if j.m.over {
		return ErrOver
	}
	if j.holds() {
		j.until = time.Now().Add(j.m.lease)
	}
	return ctx.Err()
}

func (j *memoryJob) Done(ctx context.Context, r Result) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if j.holds() {
		delete(j.m.out, j.e)
	}
	if first, there := j.m.outcomes[j.e.id]; there {
		if first.Contradicts(r.Claim) {
			j.m.disputed[j.e.id] = true
		}
		return nil
	}
	j.m.outcomes[j.e.id] = Outcome{Result: r, Worker: j.worker}
	j.m.waiting = slices.DeleteFunc(j.m.waiting, func(e *entry) bool { return e == j.e })
	j.m.wake()
	return nil
}

func (j *memoryJob) Fail(ctx context.Context, why string) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	if j.holds() {
		j.m.failed(j.e, fmt.Sprintf("%s: %s", j.worker, why))
	}
	return ctx.Err()
}

func (j *memoryJob) GiveBack(ctx context.Context) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	if j.holds() {
		delete(j.m.out, j.e)
		if _, there := j.m.outcomes[j.e.id]; !there { // a late result has come meanwhile
			j.m.waiting = append(j.m.waiting, j.e)
		}
		j.m.wake()
	}
	return ctx.Err()
}
