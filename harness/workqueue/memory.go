package workqueue

import (
	"cmp"
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
	seen     map[string]time.Time // when a worker last asked for a unit, or said that it is at one
	barred   map[string]string
}

// entry is a unit that was put.
type entry struct {
	Unit
	id    string
	tries []Try
	from  time.Time // it is not handed out before
	since time.Time // when it was handed out, or came back
}

// NewMemory returns an empty queue. A worker that says nothing for so long as lease (0: 30s) loses its unit.
func NewMemory(lease time.Duration) *Memory {
	if lease <= 0 {
		lease = DefaultLease
	}
	return &Memory{
		lease: lease, changed: make(chan struct{}), out: map[*entry]*memoryJob{}, entries: map[string]*entry{},
		outcomes: map[string]Outcome{},
		disputed: map[string]bool{}, seen: map[string]time.Time{}, barred: map[string]string{},
	}
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

// Watch is Queue's.
func (m *Memory) Watch() Watched {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := Watched{Done: len(m.outcomes), Barred: maps.Clone(m.barred)}
	for id, e := range m.entries {
		j := m.out[e]
		if _, settled := m.outcomes[id]; settled || j == nil && len(e.tries) == 0 {
			continue
		}
		b := Begun{ID: id, Since: e.since, Failed: Whys(e.tries)}
		if j != nil {
			b.Worker = j.worker
		}
		w.Begun = append(w.Begun, b)
	}
	slices.SortFunc(w.Begun, func(a, b Begun) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return w
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

// Look is Queue's.
func (v memoryView) Look(ctx context.Context, id string) (s Standing, err error) {
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

// HasOther is Queue's. A worker is there that was heard of within a lease.
func (v memoryView) HasOther(ctx context.Context, is func(string) bool) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for worker, seen := range v.seen {
		if worker != v.worker && time.Since(seen) < v.lease && is(worker) {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// Bar is Queue's.
func (v memoryView) Bar(ctx context.Context, why string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.barred[v.worker] = why
	delete(v.seen, v.worker)
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

// tryTake hands a unit out if one waits. Otherwise it returns what to wait for: a change, and the time until the next
// lease, or the next pause, ends.
func (v memoryView) tryTake(now time.Time) (job Job, changed <-chan struct{}, next time.Duration, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return nil, nil, 0, ErrOver
	}
	v.seen[v.worker] = now
	next = v.lease / 3 // and it is heard of in time
	for _, j := range v.out {
		if left := j.until.Sub(now); left > 0 {
			next = min(next, left)
			continue
		}
		v.failed(j, Try{j.worker, fmt.Sprintf("%s said nothing for %v", j.worker, v.lease), false}, now)
	}
	for i, e := range v.waiting {
		if left := e.from.Sub(now); left > 0 {
			next = min(next, left)
			continue
		}
		v.waiting = slices.Delete(v.waiting, i, i+1)
		e.since = now
		j := &memoryJob{v.Memory, e, v.worker, slices.Clone(e.tries), now.Add(v.lease)}
		v.out[e] = j
		return j, nil, 0, nil
	}
	return nil, v.changed, next, nil
}

// failed notes that a try came to nothing. The unit waits until the time from. The caller holds m.mu.
func (m *Memory) failed(j *memoryJob, t Try, from time.Time) {
	e := j.e
	delete(m.out, e)
	e.tries, e.since = append(e.tries, t), time.Now()
	if _, there := m.outcomes[e.id]; there {
		return
	}
	if e.from = from; len(e.tries) < Tries {
		m.waiting = append(m.waiting, e)
	} else {
		m.outcomes[e.id] = Outcome{Failed: Whys(e.tries)}
	}
	m.wake()
}

// memoryJob is a unit that was handed out.
type memoryJob struct {
	m      *Memory
	e      *entry
	worker string
	tries  []Try     // before this one
	until  time.Time // end of the lease
}

func (j *memoryJob) Unit() Unit { return j.e.Unit }

func (j *memoryJob) Tries() []Try { return j.tries }

// holds reports whether the worker still has its lease. The caller holds m.mu.
func (j *memoryJob) holds() bool { return j.m.out[j.e] == j }

func (j *memoryJob) Alive(ctx context.Context) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	if j.m.over {
		return ErrOver
	}
	j.m.seen[j.worker] = time.Now()
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
	j.m.outcomes[j.e.id] = Outcome{Result: r, Worker: j.worker, Failed: Whys(j.e.tries)}
	j.m.waiting = slices.DeleteFunc(j.m.waiting, func(e *entry) bool { return e == j.e })
	j.m.wake()
	return nil
}

func (j *memoryJob) Fail(ctx context.Context, why string) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	if j.holds() {
		j.m.failed(j, Try{j.worker, fmt.Sprintf("%s: %s", j.worker, why), true}, time.Now().Add(RetryAfter))
	}
	return ctx.Err()
}

func (j *memoryJob) GiveBack(ctx context.Context, after time.Duration) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	if j.holds() {
		delete(j.m.out, j.e)
		if _, there := j.m.outcomes[j.e.id]; !there { // a late result has come meanwhile
			j.e.from = time.Now().Add(after)
			j.m.waiting = slices.Insert(j.m.waiting, 0, j.e)
		}
		j.m.wake()
	}
	return ctx.Err()
}
