package granttest_test

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

// This file has right and wrong algorithms, written as users write them. There are just enough to show what this
// package does with them. The corpus of package workloads has many more.

// goodLock is a correct lock: SET NX PX, and a release by a script that compares the owner.
type goodLock struct{ redis redis.UniversalClient }

func newGoodLock(r redis.UniversalClient) *goodLock { return &goodLock{r} }

func (l *goodLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.redis.SetNX(ctx, key, owner, ttl).Result()
}

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

func (l *goodLock) Release(ctx context.Context, key, owner string) (bool, error) {
	n, err := release.Run(ctx, l.redis, []string{key}, owner).Int()
	return n == 1, err
}

// plainLock is a goodLock whose constructor takes a *redis.Client.
type plainLock struct{ goodLock }

func newPlainLock(r *redis.Client) *plainLock { return &plainLock{goodLock{r}} }

// blindDel deletes any owner's lock.
type blindDel struct{ goodLock }

func newBlindDel(r redis.UniversalClient) *blindDel { return &blindDel{goodLock{r}} }

func (l *blindDel) Release(ctx context.Context, key, _ string) (bool, error) {
	n, err := l.redis.Del(ctx, key).Result()
	return n == 1, err
}

// tokenless is a lock that never returns a fencing token.
type tokenless struct{ goodLock }

func newTokenless(r redis.UniversalClient) *tokenless { return &tokenless{goodLock{r}} }

func (l *tokenless) Fence() string { return "" }

// acquiring makes a goodLock with another Acquire.
func acquiring(f func(ctx context.Context, l goodLock, key, owner string, ttl time.Duration) (bool,
	error)) func(redis.UniversalClient) *funcLock {
	return func(r redis.UniversalClient) *funcLock { return &funcLock{goodLock{r}, f} }
}

type funcLock struct {
	goodLock
	acquire func(context.Context, goodLock, string, string, time.Duration) (bool, error)
}

func (l *funcLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.acquire(ctx, l.goodLock, key, owner, ttl)
}

// newGetSet makes a lock that looks before it sets.
var newGetSet = acquiring(func(ctx context.Context, l goodLock, key, owner string, ttl time.Duration) (bool, error) {
	if err := l.redis.Get(ctx, key).Err(); err != redis.Nil {
		return false, err
	}
	return true, l.redis.Set(ctx, key, owner, ttl).Err()
})

// blindExtend renews any owner's lease.
type blindExtend struct{ goodLock }

func newBlindExtend(r redis.UniversalClient) *blindExtend { return &blindExtend{goodLock{r}} }

func (l *blindExtend) Extend(ctx context.Context, key, _ string, ttl time.Duration) (bool, error) {
	return l.redis.PExpire(ctx, key, ttl).Result()
}

// goodFilter is a correct filter: SET NX.
type goodFilter struct{ redis redis.UniversalClient }

func newGoodFilter(r redis.UniversalClient) *goodFilter { return &goodFilter{r} }

func (f *goodFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	return f.redis.SetNX(ctx, id, "1", window).Result()
}

// filtering makes a goodFilter with another First.
func filtering(f func(ctx context.Context, f goodFilter, id string, window time.Duration) (bool,
	error)) func(redis.UniversalClient) *funcFilter {
	return func(r redis.UniversalClient) *funcFilter { return &funcFilter{goodFilter{r}, f} }
}

type funcFilter struct {
	goodFilter
	first func(context.Context, goodFilter, string, time.Duration) (bool, error)
}

func (f *funcFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	return f.first(ctx, f.goodFilter, id, window)
}

var (
	// newGetSetFilter makes a filter that looks before it marks.
	newGetSetFilter = filtering(func(ctx context.Context, f goodFilter, id string, window time.Duration) (bool, error) {
		if err := f.redis.Get(ctx, id).Err(); err != redis.Nil {
			return false, err
		}
		return true, f.redis.Set(ctx, id, "1", window).Err()
	})
	// newEternalFilter makes a filter whose marks never end.
	newEternalFilter = filtering(func(ctx context.Context, f goodFilter, id string, _ time.Duration) (bool, error) {
		return f.First(ctx, id, 0)
	})
	// newTwoStepFilter sets a mark's expiry by a second command. A worker that crashes before it leaves a mark for
	// ever.
	newTwoStepFilter = filtering(func(ctx context.Context, f goodFilter, id string, window time.Duration) (bool,
		error) {
		first, err := f.First(ctx, id, 0)
		if err != nil || !first {
			return false, err
		}
		return true, f.redis.PExpire(ctx, id, window).Err()
	})
	// newOpenFilter calls a message new if Redis does not answer. newShutFilter calls it seen.
	newOpenFilter = filtering(func(ctx context.Context, f goodFilter, id string, window time.Duration) (bool, error) {
		first, err := f.First(ctx, id, window)
		return first || err != nil, nil
	})
	newShutFilter = filtering(func(ctx context.Context, f goodFilter, id string, window time.Duration) (bool, error) {
		first, _ := f.First(ctx, id, window)
		return first, nil
	})
)

// goodSequence is a correct generator: INCR.
type goodSequence struct{ redis redis.UniversalClient }

func newGoodSequence(r redis.UniversalClient) *goodSequence { return &goodSequence{r} }

func (q *goodSequence) Next(ctx context.Context, key, _ string) (string, error) {
	n, err := q.redis.Incr(ctx, key).Result()
	return strconv.FormatInt(n, 10), err
}

// stringSequence takes a larger proposal, and compares numbers as strings: "9" is more than "10".
type stringSequence struct{ redis redis.Scripter }

func newStringSequence(r redis.Scripter) *stringSequence { return &stringSequence{r} }

var stringNext = redis.NewScript(`local cur = redis.call('get', KEYS[1])
if cur and cur >= ARGV[1] then return tostring(redis.call('incr', KEYS[1])) end
redis.call('set', KEYS[1], ARGV[1]) return ARGV[1]`)

func (q *stringSequence) Next(ctx context.Context, key, proposed string) (string, error) {
	return stringNext.Run(ctx, q.redis, []string{key}, proposed).Text()
}

func lock[C any, L granttest.Locker](newLock func(C) L, o ...granttest.LockOptions) func(granttest.TB) {
	return func(t granttest.TB) { granttest.Lock(t, newLock, o...) }
}

func dedup[C any, D granttest.Deduper](newFilter func(C) D, o ...granttest.DedupOptions) func(granttest.TB) {
	return func(t granttest.TB) { granttest.Dedup(t, newFilter, o...) }
}

func sequence[C any, S granttest.Sequencer](newGenerator func(C) S, o ...granttest.SequenceOptions) func(granttest.TB) {
	return func(t granttest.TB) { granttest.Sequence(t, newGenerator, o...) }
}
