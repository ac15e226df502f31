package workloads

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file has the resource that locks guard: an owner reads its value, thinks and writes it back. The workload is
// that of Jepsen's analysis of etcd 3.4.3 (2020) and of Kleppmann's article on distributed locking (2016).

// guardedResource holds the values that locks guard, one for each lock. It lives inside the harness, so it is
// linearizable, answers at once and is never down: what goes wrong is the lock's fault. The zero value is empty.
//
// A value is a chain of updates, the latest first. An owner appends its update to the value that it has read. If
// another owner has written since, that owner's update is not in the new chain: it is lost.
type guardedResource struct {
	mu         sync.Mutex
	values     map[string]*guardedValue // values by lock
	nextNumber int64                    // the next number to draw
}

type guardedValue struct {
	latest *guardedUpdate
	fence  string // the largest token seen; "": none yet
}

// guardedUpdate is an update, which adds one number to the value that its writer had read. It is never changed.
type guardedUpdate struct {
	number int64
	read   *guardedUpdate
}

// value returns the value of a lock's resource. The caller holds r.mu.
func (r *guardedResource) value(lock string) *guardedValue {
	if r.values == nil {
		r.values = map[string]*guardedValue{}
	}
	if r.values[lock] == nil {
		r.values[lock] = &guardedValue{}
	}
	return r.values[lock]
}

// drawNumber draws a number that nobody else has.
func (r *guardedResource) drawNumber() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextNumber++
	return r.nextNumber - 1
}

// read returns the value that a lock guards. The result ok is false if the resource has seen a larger token than this
// one. In that case it has refused the caller's update, so the caller must not write.
func (r *guardedResource) read(lock, token string) (latest *guardedUpdate, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.value(lock)
	return v.latest, v.admit(token)
}

// write makes u the value that a lock guards. It does nothing and returns false if the resource has seen a larger
// token.
func (r *guardedResource) write(lock, token string, u *guardedUpdate) (ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.value(lock)
	if !v.admit(token) {
		return false
	}
	v.latest = u
	return true
}

// admit reports whether a fencing token is at least as large as the largest one seen so far. It remembers a larger
// token. An owner without a token is always admitted.
func (v *guardedValue) admit(token string) bool {
	if token == "" {
		return true
	}
	if isOlder(token, v.fence) {
		return false
	}
	v.fence = token
	return true
}

// isOlder reports whether the decimal number a is smaller than b, whatever their lengths.
func isOlder(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// numbers lists the numbers that the updates in the value have added, in ascending order.
func (r *guardedResource) numbers(lock string) (all []int64) {
	r.mu.Lock()
	u := r.value(lock).latest
	r.mu.Unlock()
	for ; u != nil; u = u.read {
		all = append(all, u.number)
	}
	slices.Sort(all)
	return all
}

// readAll records the final value.
func (r *guardedResource) readAll(s *harness.Session, lock string) {
	s.Invoke(harness.Op{Kind: harness.Read, Key: harness.Guarded(lock)}, func(op *harness.Op) {
		op.Outcome, op.Result = harness.OK, formatIntervals(r.numbers(lock))
	})
}

// tokenTooOld is the reason that a resource gives when it refuses a write.
const tokenTooOld = "stale token"

// update reads the guarded value, thinks, and writes the value back. The client may be paused or crash between the read
// and the write. It does not check the clock before the write, since a pause might come just after the check.
func (c *lockClient) update(s *harness.Session, key, owner, token string) harness.Op {
	read, admitted := c.resource.read(key, token)
	s.Sleep(thinkTime(s.Rand, c.lease(key)))
	mine := &guardedUpdate{number: c.resource.drawNumber(), read: read}
	op := harness.Op{Kind: harness.Add, Key: harness.Guarded(key), Arg: strconv.FormatInt(mine.number, 10),
		Result: owner}
	return s.Invoke(op, func(op *harness.Op) {
		op.Outcome = harness.OK
		if !admitted || !c.resource.write(key, token, mine) {
			op.Outcome, op.Err = harness.Fail, tokenTooOld
		}
	})
}

// thinkTime draws how long an owner thinks between its read and its write. It thinks for about usualHoldMean, and for
// at most an eighth of the lease.
func thinkTime(rng *rand.Rand, ttl time.Duration) time.Duration {
	return min(time.Duration(rng.ExpFloat64()*float64(usualHoldMean)), ttl/8)
}
