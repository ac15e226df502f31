package granttest_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// This file has algorithms that go wrong only when one client uses them more than once, or for two names.

// objectLock is a goodLock whose methods may be replaced by functions, which keep notes between two calls.
type objectLock struct {
	goodLock
	token string          // of the object; empty: owners' are used
	held  map[string]bool // by name
	last  string          // name that was taken last

	acquire func(context.Context, *objectLock, string, string, time.Duration) (bool, error)
	release func(context.Context, *objectLock, string, string) (bool, error)
}

func (l *objectLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	if l.acquire == nil {
		return l.goodLock.Acquire(ctx, key, owner, ttl)
	}
	return l.acquire(ctx, l, key, owner, ttl)
}

func (l *objectLock) Release(ctx context.Context, key, owner string) (bool, error) {
	if l.release == nil {
		return l.goodLock.Release(ctx, key, owner)
	}
	return l.release(ctx, l, key, owner)
}

func ofObject(made objectLock) func(redis.UniversalClient) *objectLock {
	return func(r redis.UniversalClient) *objectLock {
		l := made
		l.goodLock, l.held = goodLock{r}, map[string]bool{}
		return &l
	}
}

// newOneToken makes a lock with one token for each object, as some libraries do. A late release of one hold then frees
// the next hold.
func newOneToken(r redis.UniversalClient) *objectLock {
	return &objectLock{
		goodLock: goodLock{r},
		acquire: func(ctx context.Context, l *objectLock, key, owner string, ttl time.Duration) (bool, error) {
			return l.goodLock.Acquire(ctx, key, l.myToken(owner), ttl)
		},
		release: func(ctx context.Context, l *objectLock, key, owner string) (bool, error) {
			return l.goodLock.Release(ctx, key, l.myToken(owner))
		},
	}
}

// myToken returns the token of the object: the name of its first owner.
func (l *objectLock) myToken(owner string) string {
	if l.token == "" {
		l.token = owner
	}
	return l.token
}

var (
	// newStaleHeld makes a lock that grants what it has noted as its own, without a look at the owner in Redis. It
	// keeps the note after a refused release.
	newStaleHeld = ofObject(objectLock{
		acquire: func(ctx context.Context, l *objectLock, key, owner string, ttl time.Duration) (bool, error) {
			if l.held[key] {
				return true, l.redis.Get(ctx, key).Err()
			}
			ok, err := l.goodLock.Acquire(ctx, key, owner, ttl)
			l.held[key] = ok
			return ok, err
		},
		release: func(ctx context.Context, l *objectLock, key, owner string) (bool, error) {
			ok, err := l.goodLock.Release(ctx, key, owner)
			if ok {
				l.held[key] = false
			}
			return ok, err
		},
	})
	// newOneKey makes a lock that has one key for all names.
	newOneKey = ofObject(objectLock{
		acquire: func(ctx context.Context, l *objectLock, _, owner string, ttl time.Duration) (bool, error) {
			return l.goodLock.Acquire(ctx, "the-lock", owner, ttl)
		},
		release: func(ctx context.Context, l *objectLock, _, owner string) (bool, error) {
			return l.goodLock.Release(ctx, "the-lock", owner)
		},
	})
	// newFreesAll makes a lock whose release of a name such as lock-2 also frees lock.
	newFreesAll = ofObject(objectLock{
		release: func(ctx context.Context, l *objectLock, key, owner string) (bool, error) {
			ok, err := l.goodLock.Release(ctx, key, owner)
			if name, _, second := strings.Cut(key, "-"); ok && err == nil && second {
				err = l.redis.Del(ctx, name).Err()
			}
			return ok, err
		},
	})
	// newReleasesLast makes a lock that releases what it took last, whatever it is asked to release.
	newReleasesLast = ofObject(objectLock{
		acquire: func(ctx context.Context, l *objectLock, key, owner string, ttl time.Duration) (bool, error) {
			ok, err := l.goodLock.Acquire(ctx, key, owner, ttl)
			if ok {
				l.last = key + " " + owner
			}
			return ok, err
		},
		release: func(ctx context.Context, l *objectLock, _, _ string) (bool, error) {
			key, owner, _ := strings.Cut(l.last, " ")
			return l.goodLock.Release(ctx, key, owner)
		},
	})
	// newMindful makes a correct lock. It notes what it may own, and releases nothing else.
	newMindful = ofObject(objectLock{
		acquire: func(ctx context.Context, l *objectLock, key, owner string, ttl time.Duration) (bool, error) {
			ok, err := l.goodLock.Acquire(ctx, key, owner, ttl)
			l.held[key+owner] = ok || err != nil
			return ok, err
		},
		release: func(ctx context.Context, l *objectLock, key, owner string) (bool, error) {
			if !l.held[key+owner] {
				return false, nil
			}
			ok, err := l.goodLock.Release(ctx, key, owner)
			l.held[key+owner] = err != nil
			return ok, err
		},
	})
)

// newPrefixFilter makes a filter that marks a message by the beginning of its name.
var newPrefixFilter = filtering(func(ctx context.Context, f goodFilter, id string, window time.Duration) (bool, error) {
	return f.First(ctx, id[:3], window)
})

// forgetful is a filter that marks in two steps, and always confirms its latest claim.
type forgetful struct {
	goodFilter
	last string
}

func newForgetful(r redis.UniversalClient) *forgetful { return &forgetful{goodFilter{r}, ""} }

func (f *forgetful) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	f.last = id
	return f.redis.SetNX(ctx, id, "claimed", f.Lease(window)).Result()
}

func (f *forgetful) Lease(window time.Duration) time.Duration { return window / 8 }

func (f *forgetful) Confirm(ctx context.Context, _ string, window time.Duration) (bool, error) {
	return true, f.redis.Set(ctx, f.last, "done", window).Err()
}

// blockSequence draws numbers in blocks of ten, and forgets which sequence its block belongs to.
type blockSequence struct {
	redis      redis.UniversalClient
	next, last int64
}

func newBlockSequence(r redis.UniversalClient) *blockSequence { return &blockSequence{redis: r} }

func (q *blockSequence) Next(ctx context.Context, key, _ string) (string, error) {
	if err := q.redis.Get(ctx, key).Err(); err != nil && err != redis.Nil {
		return "", err
	}
	if q.next == q.last {
		last, err := q.redis.IncrBy(ctx, key, 2).Result()
		if err != nil {
			return "", err
		}
		q.next, q.last = last-2, last
	}
	q.next++
	return strconv.FormatInt(q.next, 10), nil
}

// brief is a search of two clients. briefUncrashed leaves out crashes too, which would only take time.
var (
	brief          = granttest.Search{Clients: 2, Minimize: -1}
	briefLock      = granttest.LockOptions{Search: brief, Load: granttest.Load{Skip: true}}
	briefUncrashed = granttest.LockOptions{Search: granttest.Search{Clients: 2, Crashes: -1, Minimize: -1},
		Load: granttest.Load{Skip: true}}
	briefOnce = granttest.DedupOptions{Search: brief, Load: granttest.Load{Skip: true}}
)

// saying is a test, and what its failure has to say.
type saying struct {
	test func(granttest.TB)
	want string // a regular expression; empty: the algorithm is right
}

func requireSaid(t *testing.T, all map[string]saying) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := record(t, t.Name(), c.test)
			if c.want == "" {
				got.passes(t)
				return
			}
			require.Regexp(t, `(?s)is not a (lock|filter|sequence).*(`+c.want+`)`, got.failure(t))
			require.NotContains(t, got.failure(t), "neither sent a command")
		})
	}
}

// A search finds mistakes that show only if one client uses an algorithm again, or for two names.
func TestWhatGoesWrongWhenItIsUsedAgain(t *testing.T) {
	requireSaid(t, map[string]saying{
		"one key for all names": {lock(newOneKey, briefLock),
			"stuck-lock in .*lock-2 was refused although no client had asked for lock-2"},
		"a mark for two messages": {dedup(newPrefixFilter, briefOnce), "lost-message in .*msg-2 was refused although"},
	})
}

func TestLongWhatGoesWrongWhenItIsUsedAgain(t *testing.T) {
	testenv.NeedLong(t)
	requireSaid(t, map[string]saying{
		"held, though the release failed": {lock(newStaleHeld, briefLock), "double-grant"},
		"a lock that takes notes":         {lock(newMindful, briefLock), ""},
		"a token for each object":         {lock(newOneToken, briefLock), "stolen-release|double-grant"},
		"a release frees other names":     {lock(newFreesAll, briefLock), "stolen-release|double-grant"},
		"a release of the last":           {lock(newReleasesLast, briefLock), "stolen-release|double-grant"},
		"confirms what it claimed last":   {dedup(newForgetful, briefOnce), "lost-message|duplicate-delivery"},
		"a block of another sequence": {sequence(newBlockSequence,
			granttest.SequenceOptions{Search: brief, Load: briefLock.Load, Regime: granttest.Fixed}),
			"duplicate-number|regression"},
	})
}
