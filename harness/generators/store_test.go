package generators_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// store is a lock server in memory, the target of several generators. The zero value grants correctly.
type store struct {
	mu     sync.Mutex
	broken bool // it grants every request
	owner  string
	until  time.Time
}

const lease = 60 * time.Millisecond

func (s *store) acquire(owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.broken && s.owner != "" && time.Now().Before(s.until) {
		return false
	}
	s.owner, s.until = owner, time.Now().Add(lease)
	return true
}

func (s *store) release(owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner != owner {
		return false
	}
	s.owner = ""
	return true
}

// locking is a workload on a store. It is also the System, which needs no start.
type locking struct{ *store }

func (locking) Start(context.Context, harness.Clock, func(harness.Event), *slog.Logger) error {
	return nil
}
func (locking) AwaitWhole(context.Context) error { return nil }
func (locking) Stop() error                      { return nil }
func (locking) Groups() int                      { return 2 }
func (locking) Name() string                     { return "locking" }
func (locking) Kinds() []harness.Kind            { return []harness.Kind{harness.Acquire, harness.Release} }
func (l locking) Open(context.Context, int) (harness.Client, error) {
	return &locker{store: l.store}, nil
}

type locker struct {
	*store
	tries int
}

func (l *locker) Step(_ context.Context, s *harness.Session) {
	l.tries++
	owner := fmt.Sprintf("%d-%d", s.Client(), l.tries)
	answer := func(yes bool, no string) func(op *harness.Op) {
		return func(op *harness.Op) {
			if op.Outcome = harness.OK; !yes {
				op.Outcome, op.Err = harness.Fail, no
			}
		}
	}
	// longer than the uncertainty of clocks, so that some certainly overlap
	way := time.Duration(s.Rand.Int64N(int64(4 * time.Millisecond)))
	got := s.Invoke(harness.Op{Kind: harness.Acquire, Key: "lock", Arg: owner, TTL: lease}, func(op *harness.Op) {
		time.Sleep(way)
		answer(l.acquire(owner), harness.Held)(op)
	})
	if got.Outcome != harness.OK {
		s.Sleep(time.Millisecond)
		return
	}
	s.Sleep(time.Duration(s.Rand.Int64N(int64(5 * time.Millisecond))))
	s.Invoke(harness.Op{Kind: harness.Release, Key: "lock", Arg: owner},
		func(op *harness.Op) { answer(l.release(owner), harness.NotMine)(op) })
}
