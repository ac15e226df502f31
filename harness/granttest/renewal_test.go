package granttest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// This file has locks that go wrong only when a lease is renewed more than once, and one that asks twice before it
// takes a lock over.

// renewing is a goodLock whose lease can be renewed. It keeps notes between two calls.
type renewing struct {
	goodLock
	renewed map[string]time.Time // by owner: time of the last renewal
	latest  map[string]string    // by key: the latest owner
	extend  func(ctx context.Context, l *renewing, key, owner string, ttl time.Duration) (bool, error)
}

func (l *renewing) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	ok, err := l.goodLock.Acquire(ctx, key, owner, ttl)
	if ok {
		l.latest[key] = owner
	}
	return ok, err
}

func (l *renewing) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.extend(ctx, l, key, owner, ttl)
}

func extending(extend func(ctx context.Context, l *renewing, key, owner string, ttl time.Duration) (bool,
	error)) func(redis.UniversalClient) *renewing {
	return func(r redis.UniversalClient) *renewing {
		return &renewing{goodLock{r}, map[string]time.Time{}, map[string]string{}, extend}
	}
}

// byScript makes an extend that runs a script with the owner and the lease in milliseconds. It says yes if the script
// returns 1.
func byScript(text string) func(context.Context, *renewing, string, string, time.Duration) (bool, error) {
	script := redis.NewScript(text)
	return func(ctx context.Context, l *renewing, key, owner string, ttl time.Duration) (bool, error) {
		n, err := script.Run(ctx, l.redis, []string{key}, owner, ttl.Milliseconds()).Int()
		return n == 1, err
	}
}

const ownersOnly = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end "

var (
	comparesAndRenews = byScript(ownersOnly + "return redis.call('pexpire', KEYS[1], ARGV[2])")

	// newRenewsSeldom makes a lock that renews a lease at most once in a quarter of its length, and says yes in
	// between.
	newRenewsSeldom = extending(func(ctx context.Context, l *renewing, key, owner string, ttl time.Duration) (bool,
		error) {
		now := harness.Now(ctx)
		if at, known := l.renewed[owner]; known && now.Sub(at) < ttl/4 {
			return true, nil
		}
		ok, err := comparesAndRenews(ctx, l, key, owner, ttl)
		if ok {
			l.renewed[owner] = now
		}
		return ok, err
	})
	// newSkipsTheMiddle makes a lock whose extend always says yes to the owner, but renews nothing while 25 to 45
	// percent of the lease are left.
	newSkipsTheMiddle = extending(byScript(ownersOnly + `local left = redis.call('pttl', KEYS[1])
if left >= ARGV[2] * 0.45 or left <= ARGV[2] * 0.25 then redis.call('pexpire', KEYS[1], ARGV[2]) end return 1`))
	// newRenewsTheLatest makes a lock whose extend renews the lease of its client's latest owner, even if an earlier
	// owner asks.
	newRenewsTheLatest = extending(func(ctx context.Context, l *renewing, key, _ string, ttl time.Duration) (bool,
		error) {
		return comparesAndRenews(ctx, l, key, l.latest[key], ttl)
	})
	// newRenews makes a correct lock.
	newRenews = extending(comparesAndRenews)
)

// observing is a right lock without a TTL. A client that has seen one value for longer than a lease takes over the
// lock.
type observing struct {
	goodLock
	seen map[string]sight
}

// sight is a value that a client sees, and the time when it first saw it.
type sight struct {
	value string
	since time.Time
}

func newObserving(r redis.UniversalClient) *observing {
	return &observing{goodLock{r}, map[string]sight{}}
}

var exchanges = redis.NewScript("if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('set', " +
	"KEYS[1], ARGV[2]) return 1")

func (l *observing) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	if ok, err := l.redis.SetNX(ctx, key, owner, 0).Result(); ok || err != nil {
		return ok, err
	}
	value, err := l.redis.Get(ctx, key).Result()
	if err != nil {
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return false, err
	}
	now, last := harness.Now(ctx), l.seen[key]
	if last.value != value {
		l.seen[key] = sight{value, now}
		return false, nil
	}
	if now.Sub(last.since) <= ttl {
		return false, nil
	}
	n, err := exchanges.Run(ctx, l.redis, []string{key}, value, owner).Int()
	return n == 1, err
}

// Clients of a search renew a lease more than once, at different times. So a lock that skips some renewals is found.
func TestLeasesAreRenewedAgainAndAgain(t *testing.T) {
	requireSaid(t, map[string]saying{
		"skips the middle": {lock(newSkipsTheMiddle, briefLock), "double-grant"},
		"renews":           {lock(newRenews, briefLock), ""},
	})
}

func TestLongLeasesAreRenewedAgainAndAgain(t *testing.T) {
	testenv.NeedLong(t)
	requireSaid(t, map[string]saying{
		"renews seldom":        {lock(newRenewsSeldom, briefUncrashed), "double-grant"},
		"renews the latest":    {lock(newRenewsTheLatest, briefLock), "double-grant|silent-reacquire"},
		"observes for a lease": {lock(newObserving, briefUncrashed), ""},
	})
}
