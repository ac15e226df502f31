package granttest

import (
	"context"

	"github.com/doublegrant/doublegrant/harness"
)

// TB is the part of testing.TB that a test needs.
type TB interface {
	Helper()
	Name() string
	Context() context.Context
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Lock fails t unless the lock that newLock makes keeps its promise: no two owners at one time, no release of somebody
// else's lock, and no lock that stays taken when every lease has ended.
//
// newLock is called once for each client. C is what it takes: redis.UniversalClient, *redis.Client, redis.Cmdable or
// any other interface that *redis.Client implements. At most one options value may follow.
func Lock[C any, L Locker](t TB, newLock func(C) L, o ...LockOptions) {
	t.Helper()
	_ = harness.Valid
}

// Dedup fails t unless the filter that newFilter makes keeps its promise: each message is delivered by one worker, is not
// lost by a crash between claim and delivery, and can be delivered again when its window is over. C is as for Lock.
func Dedup[C any, D Deduper](t TB, newFilter func(C) D, o ...DedupOptions) {
	t.Helper()
}

// Sequence fails t unless the generator that newGenerator makes keeps its promise: each number is drawn once, and is
// larger than every number that was drawn before it was asked for. C is as for Lock.
func Sequence[C any, S Sequencer](t TB, newGenerator func(C) S, o ...SequenceOptions) {
	t.Helper()
}
