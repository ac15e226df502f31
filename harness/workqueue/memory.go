package workqueue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a queue inside one process; it ends with the process. Each worker uses it through As.
type Memory struct {
	lease time.Duration

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change that a caller may wait for
	over     bool
	waiting  []*entry // units to be handed out, in order
	leased   map[*entry]*memoryJob
	entries  map[string]*entry
	outcomes map[string]Outcome
	disputed map[string]bool
	seen     map[string]time.Time // when each worker last asked for a unit or renewed a lease
	barred   map[string]string
}

// entry is a unit that was put.
type entry struct {
	Unit
	id        string
	tries     []Try
	notBefore time.Time // the unit is not handed out before this time
	since     time.Time // when the unit was last handed out or returned
}

// NewMemory returns an empty queue. A worker that says nothing for the lease (0: 30s) loses its unit.
func NewMemory(lease time.Duration) *Memory {
	if lease <= 0 {
		lease = DefaultLease
	}
	return &Memory{
		lease: lease, changed: make(chan struct{}), leased: map[*entry]*memoryJob{}, entries: map[string]*entry{},
		outcomes: map[string]Outcome{},
		disputed: map[string]bool{}, seen: map[string]time.Time{}, barred: map[string]string{},
	}
}

// DefaultLease is how long a worker may say nothing before its unit goes to another worker.
const DefaultLease = 30 * time.Second

// As returns the queue for the worker with a name.
func (m *Memory) As(worker string) Queue { return memoryView{m, worker} }

// memoryView is the queue as used by one worker, or by the coordinator.
type memoryView struct {
	*Memory
	worker string
}

func (m *Memory) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// Put implements Queue.
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

// Await implements Queue.
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

// Watch implements Queue.
func (m *Memory) Watch() WorkState {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := WorkState{Done: len(m.outcomes), Withdrawn: maps.Clone(m.barred)}
	for id, e := range m.entries {
		j := m.leased[e]
		if _, settled := m.outcomes[id]; settled || j == nil && len(e.tries) == 0 {
			continue
		}
		b := OpenUnit{ID: id, Since: e.since, Failed: Outcomes(e.tries)}
		if j != nil {
			b.Worker = j.worker
		}
		w.Begun = append(w.Begun, b)
	}
	slices.SortFunc(w.Begun, OpenUnit.Compare)
	return w
}

// Disputed implements Queue.
func (m *Memory) Disputed(ctx context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.disputed)), ctx.Err()
}

// End implements Queue.
func (m *Memory) End(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	m.wake()
	return ctx.Err()
}

// State implements Queue.
func (v memoryView) State(ctx context.Context, id string) (s UnitState, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e := v.entries[id]; e != nil {
		s.Tries = slices.Clone(e.tries)
	}
	var o Outcome
	o, s.Over = v.outcomes[id]
	s.Worker = o.Worker
	return s, ctx.Err()
}

// HasOtherWorker implements Queue. A worker is present if it was active within the last lease.
func (v memoryView) HasOtherWorker(ctx context.Context, suits func(name string) bool) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for worker, seen := range v.seen {
		if worker != v.worker && time.Since(seen) < v.lease && suits(worker) {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// Withdraw implements Queue.
func (v memoryView) Withdraw(ctx context.Context, why string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.barred[v.worker] = why
	delete(v.seen, v.worker)
	return ctx.Err()
}

// Take implements Queue.
func (v memoryView) Take(ctx context.Context) (Job, error) {
	for {
		job, changed, next, err := v.tryTake(time.Now())
		if job != nil || err != nil {
			return job, err
		}
		select {
		case <-changed:
		case <-time.After(next):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryTake hands a unit out if one is available. Otherwise it returns what to wait for: a change, or the time until the
// next lease or pause ends.
func (v memoryView) tryTake(now time.Time) (job Job, changed <-chan struct{}, next time.Duration, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return nil, nil, 0, ErrOver
	}
	v.seen[v.worker] = now
	next = v.lease / 3 // so that it counts as present
	for _, j := range v.leased {
		if remaining := j.until.Sub(now); remaining > 0 {
			next = min(next, remaining)
			continue
		}
		v.noteFailed(j, Try{j.worker, fmt.Sprintf("%s was silent for %v", j.worker, v.lease), false}, now)
	}
	for i, e := range v.waiting {
		if remaining := e.notBefore.Sub(now); remaining > 0 {
			next = min(next, remaining)
			continue
		}
		v.waiting = slices.Delete(v.waiting, i, i+1)
		e.since = now
		j := &memoryJob{v.Memory, e, v.worker, slices.Clone(e.tries), now.Add(v.lease)}
		v.leased[e] = j
		return j, nil, 0, nil
	}
	return nil, v.changed, next, nil
}

// noteFailed records a try without a result. The unit is not handed out again before notBefore. The caller holds m.mu.
func (m *Memory) noteFailed(j *memoryJob, t Try, notBefore time.Time) {
	e := j.e
	delete(m.leased, e)
	e.tries, e.since = append(e.tries, t), time.Now()
	if _, there := m.outcomes[e.id]; there {
		return
	}
	if e.notBefore = notBefore; len(e.tries) < Tries {
		m.waiting = append(m.waiting, e)
	} else {
		m.outcomes[e.id] = Outcome{Failed: Outcomes(e.tries)}
	}
	m.wake()
}

// memoryJob is a unit that was handed out.
type memoryJob struct {
	m      *Memory
	e      *entry
	worker string
	tries  []Try     // earlier tries of the unit
	until  time.Time // end of the lease
}

func (j *memoryJob) Unit() Unit { return j.e.Unit }

func (j *memoryJob) Tries() []Try { return j.tries }

// hasLease reports whether the worker still has its lease. The caller holds m.mu.
func (j *memoryJob) hasLease() bool { return j.m.leased[j.e] == j }

func (j *memoryJob) Renew(ctx context.Context) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	if j.m.over {
		return ErrOver
	}
	j.m.seen[j.worker] = time.Now()
	if j.hasLease() {
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
	if j.hasLease() {
		delete(j.m.leased, j.e)
	}
	if first, there := j.m.outcomes[j.e.id]; there {
		if first.Contradicts(r.Claim) {
			j.m.disputed[j.e.id] = true
		}
		return nil
	}
	j.m.outcomes[j.e.id] = Outcome{Result: r, Worker: j.worker, Failed: Outcomes(j.e.tries)}
	j.m.waiting = slices.DeleteFunc(j.m.waiting, func(e *entry) bool { return e == j.e })
	j.m.wake()
	return nil
}

func (j *memoryJob) Fail(ctx context.Context, why string) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	if j.hasLease() {
		j.m.noteFailed(j, Try{j.worker, fmt.Sprintf("%s: %s", j.worker, why), true}, time.Now().Add(RetryAfter))
	}
	return ctx.Err()
}

func (j *memoryJob) GiveBack(ctx context.Context, after time.Duration) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	if j.hasLease() {
		delete(j.m.leased, j.e)
		if _, there := j.m.outcomes[j.e.id]; !there { // otherwise a late result has come meanwhile
			j.e.notBefore = time.Now().Add(after)
			j.m.waiting = slices.Insert(j.m.waiting, 0, j.e)
		}
		j.m.wake()
	}
	return ctx.Err()
}
