package workloads

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncpool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// lib/redsync is go-redsync/redsync v4 on one pool, unmodified.
//
//	acquire  SETNX with PX; if it was refused, or answered too late, also the release
//	extend   script: GET, compare, PEXPIRE
//	release  script: GET, compare, DEL
//
// Source: the library. One pool is a quorum of one: the reference lock. Each command has to be answered within a
// twentieth of the lease. Only "taken" is a refusal. Any other failure leaves open whether the lock was taken.
func libRedsync() Variant {
	return lockVariant("lib/redsync", newRedsync, Variant{
		Doc:    "go-redsync/redsync v4 with one pool, one try",
		Source: "github.com/go-redsync/redsync",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.DoubleGrant, Failover}},
	})
}

// lib/redsync-retries is lib/redsync with two tries, without a wait between them.
//
// Source: the library, whose own default is 32 tries.
func libRedsyncRetries() Variant {
	return lockVariant("lib/redsync-retries", newRedsyncRetries, Variant{
		Doc:      "go-redsync/redsync v4 with one pool, two tries",
		Explored: 2,
		Source:   "github.com/go-redsync/redsync",
		Claim:    OneNode,
		// Both tries have the same token. The SET of the first try may arrive after its caller has lost the lock and the
		// next owner has released it. Then the lock is taken again.
		Flaws: []Flaw{{harness.SilentReacquire, LateCommand}, {harness.DoubleGrant, Failover}},
	})
}

type redsyncLock struct {
	redsync *redsync.Redsync
	held    map[grant]*redsync.Mutex
	tries   int // number of tries; 0: one
}

// grant identifies a granted lock for which the library keeps an object.
type grant struct{ key, owner string }

func newRedsync(r redis.UniversalClient) Locker {
	l := redsyncOn(goredis.NewPool(r))
	return &l
}

func newRedsyncRetries(r redis.UniversalClient) Locker {
	l := redsyncOn(goredis.NewPool(r))
	l.tries = 2
	return &l
}

func redsyncOn(pools ...redsyncpool.Pool) redsyncLock {
	return redsyncLock{redsync: redsync.New(pools...), held: map[grant]*redsync.Mutex{}}
}

// mutex returns the library's object for one acquire.
func (l *redsyncLock) mutex(key, owner string, ttl time.Duration) *redsync.Mutex {
	return l.redsync.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(max(1, l.tries)),
		redsync.WithRetryDelay(0),
		redsync.WithGenValueFunc(func() (string, error) { return owner, nil }))
}

// lock takes the lock, in as many tries as the library was told.
func (l *redsyncLock) lock(ctx context.Context, m *redsync.Mutex) error {
	if l.tries > 0 {
		return m.LockContext(ctx)
	}
	return m.TryLockContext(ctx)
}

func (l *redsyncLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	m := l.mutex(key, owner, ttl)
	ok, err := redsyncAnswer(true, l.lock(ctx, m))
	if ok {
		l.held[grant{key, owner}] = m
	}
	return ok, err
}

// Extend renews the lease for the length that the acquire asked for, since the library takes no other length.
func (l *redsyncLock) Extend(ctx context.Context, key, owner string, _ time.Duration) (bool, error) {
	m := l.held[grant{key, owner}]
	if m == nil {
		return false, nil
	}
	return redsyncAnswer(m.ExtendContext(ctx))
}

func (l *redsyncLock) Release(ctx context.Context, key, owner string) (bool, error) {
	m := l.held[grant{key, owner}]
	if m == nil {
		return false, nil
	}
	delete(l.held, grant{key, owner})
	return redsyncAnswer(m.UnlockContext(ctx))
}

// redsyncAnswer turns a result of the library into an answer. A refusal, which comes as an error, becomes false. Any
// other error stays an error, since the library may have done what was asked.
func redsyncAnswer(ok bool, err error) (bool, error) {
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired) {
		return false, nil
	}
	return ok && err == nil, err
}
