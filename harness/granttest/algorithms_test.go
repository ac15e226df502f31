package granttest_test

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

// This file has algorithms as users write them, right and wrong ones: as few as show what this package does with them. Verdicts on
// many more are shown by the corpus of package workloads.

// goodLock is SET NX PX, and a script that compares before it deletes.
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

// blindDel deletes whatever is there.
type blindDel struct{ goodLock }

func newBlindDel(r redis.UniversalClient) *blindDel { return &blindDel{goodLock{r}} }

func (l *blindDel) Release(ctx context.Context, key, _ string) (bool, error) {
	n, err := l.redis.Del(ctx, key).Result()
	return n == 1, err
}

// tokenless forgets its fencing tokens.
type tokenless struct{ goodLock }

func newTokenless(r redis.UniversalClient) *tokenless { return &tokenless{goodLock{r}} }

func (l *tokenless) Fence() string { return "" }

// getSet looks before it sets.
type getSet struct{ goodLock }

func newGetSet(r redis.UniversalClient) *getSet { return &getSet{goodLock{r}} }

func (l *getSet) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	if err := l.redis.Get(ctx, key).Err(); err != redis.Nil {
		return false, err
	}
	return true, l.redis.Set(ctx, key, owner, ttl).Err()
}

// blindExtend renews whosoever's lease.
type blindExtend struct{ goodLock }

func newBlindExtend(r redis.UniversalClient) *blindExtend { return &blindExtend{goodLock{r}} }

func (l *blindExtend) Extend(ctx context.Context, key, _ string, ttl time.Duration) (bool, error) {
	return l.redis.PExpire(ctx, key, ttl).Result()
}

// goodFilter is SET NX.
type goodFilter struct{ redis redis.UniversalClient }

func newGoodFilter(r redis.UniversalClient) *goodFilter { return &goodFilter{r} }

func (f *goodFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	return f.redis.SetNX(ctx, id, "1", window).Result()
}

// getSetFilter looks before it marks.
type getSetFilter struct{ goodFilter }

func newGetSetFilter(r redis.UniversalClient) *getSetFilter { return &getSetFilter{goodFilter{r}} }

func (f *getSetFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	if err := f.redis.Get(ctx, id).Err(); err != redis.Nil {
		return false, err
	}
	return true, f.redis.Set(ctx, id, "1", window).Err()
}

// eternalFilter forgets to end its marks.
type eternalFilter struct{ goodFilter }

func newEternalFilter(r redis.UniversalClient) *eternalFilter { return &eternalFilter{goodFilter{r}} }

func (f *eternalFilter) First(ctx context.Context, id string, _ time.Duration) (bool, error) {
	return f.redis.SetNX(ctx, id, "1", 0).Result()
}

// twoStepFilter ends its marks by a command of its own, to which a worker that crashes does not come.
type twoStepFilter struct{ goodFilter }

func newTwoStepFilter(r redis.UniversalClient) *twoStepFilter { return &twoStepFilter{goodFilter{r}} }

func (f *twoStepFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	first, err := f.redis.SetNX(ctx, id, "1", 0).Result()
	if err != nil || !first {
		return false, err
	}
	return true, f.redis.PExpire(ctx, id, window).Err()
}

// openFilter takes a message for new if it gets no answer.
type openFilter struct{ goodFilter }

func newOpenFilter(r redis.UniversalClient) *openFilter { return &openFilter{goodFilter{r}} }

func (f *openFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	first, err := f.goodFilter.First(ctx, id, window)
	return first || err != nil, nil
}

// shutFilter takes a message for seen if it gets no answer.
type shutFilter struct{ goodFilter }

func newShutFilter(r redis.UniversalClient) *shutFilter { return &shutFilter{goodFilter{r}} }

func (f *shutFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	first, _ := f.goodFilter.First(ctx, id, window)
	return first, nil
}

// goodSequence is INCR.
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
