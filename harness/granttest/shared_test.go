package granttest_test

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// This file has managers of locks as services have them: one value, which all goroutines of the process use.

// manager is a lock that goroutines share. Its methods are functions, which keep notes in memory.
type manager struct {
	goodLock
	mu    sync.Mutex
	notes map[string]string      // by name, or by name and owner
	local map[string]*sync.Mutex // by name

	acquire func(context.Context, *manager, string, string, time.Duration) (bool, error)
	release func(context.Context, *manager, string, string) (bool, error)
}

func (m *manager) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return m.acquire(ctx, m, key, owner, ttl)
}

func (m *manager) Release(ctx context.Context, key, owner string) (bool, error) {
	return m.release(ctx, m, key, owner)
}

func (m *manager) note(name, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.notes[name] = what
}

func (m *manager) noted(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.notes[name]
}

// mutex returns the mutex of a name.
func (m *manager) mutex(key string) *sync.Mutex {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.local[key] == nil {
		m.local[key] = &sync.Mutex{}
	}
	return m.local[key]
}

func (m *manager) take(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return m.goodLock.Acquire(ctx, key, owner, ttl)
}

func (m *manager) give(ctx context.Context, key, owner string) (bool, error) {
	return m.goodLock.Release(ctx, key, owner)
}

func managing(acquire func(context.Context, *manager, string, string, time.Duration) (bool, error),
	release func(context.Context, *manager, string, string) (bool, error)) func(redis.UniversalClient) *manager {
	return func(r redis.UniversalClient) *manager {
		return &manager{goodLock: goodLock{r}, notes: map[string]string{}, local: map[string]*sync.Mutex{},
			acquire: acquire, release: release}
	}
}

var (
	// newByName notes only the latest owner of a name. So a late release frees the lock of another goroutine.
	newByName = managing(func(ctx context.Context, m *manager, key, owner string, ttl time.Duration) (bool, error) {
		ok, err := m.take(ctx, key, owner, ttl)
		if ok {
			m.note(key, owner)
		}
		return ok, err
	}, func(ctx context.Context, m *manager, key, _ string) (bool, error) {
		return m.give(ctx, key, m.noted(key))
	})
	// newOneTokenOfProcess has one token for its process. A goroutine that finds the token in Redis believes that the
	// lock is its own, although another goroutine has it.
	newOneTokenOfProcess = managing(func(ctx context.Context, m *manager, key, owner string, ttl time.Duration) (bool,
		error) {
		if m.noted("token") == "" {
			m.note("token", owner)
		}
		ok, err := m.take(ctx, key, m.noted("token"), ttl)
		if ok || err != nil {
			return ok, err
		}
		has, err := m.redis.Get(ctx, key).Result()
		if err == redis.Nil {
			return false, nil
		}
		return has == m.noted("token"), err
	}, func(ctx context.Context, m *manager, key, _ string) (bool, error) {
		return m.give(ctx, key, m.noted("token"))
	})
	// newStaleCache keeps a released lock for the next goroutine, which does not check whether the lease is over.
	newStaleCache = managing(func(ctx context.Context, m *manager, key, owner string, ttl time.Duration) (bool, error) {
		m.mu.Lock()
		kept := m.notes[key]
		delete(m.notes, key)
		m.mu.Unlock()
		if kept != "" {
			m.note(owner, kept)
			return true, nil
		}
		ok, err := m.take(ctx, key, owner, ttl)
		m.note(owner, owner)
		return ok, err
	}, func(_ context.Context, m *manager, key, owner string) (bool, error) {
		m.note(key, m.noted(owner))
		return true, nil
	})
	// newFreshTokens is right: it notes each grant by name and owner.
	newFreshTokens = managing(func(ctx context.Context, m *manager, key, owner string, ttl time.Duration) (bool,
		error) {
		ok, err := m.take(ctx, key, owner, ttl)
		if ok || err != nil {
			m.note(key+" "+owner, owner)
		}
		return ok, err
	}, func(ctx context.Context, m *manager, key, owner string) (bool, error) {
		token := m.noted(key + " " + owner)
		if token == "" {
			return false, nil
		}
		return m.give(ctx, key, token)
	})
	// newLocalFirst is right: goroutines of the process wait for each other in memory, from the acquire to the release.
	newLocalFirst = managing(func(ctx context.Context, m *manager, key, owner string, ttl time.Duration) (bool, error) {
		m.mutex(key).Lock()
		ok, err := m.take(ctx, key, owner, ttl)
		if !ok && err == nil {
			m.mutex(key).Unlock()
			return false, nil
		}
		m.note(key+" "+owner, "mine")
		return ok, err
	}, func(ctx context.Context, m *manager, key, owner string) (bool, error) {
		ok, err := m.give(ctx, key, owner)
		if m.noted(key+" "+owner) == "mine" { // one that was not answered comes a second time
			m.note(key+" "+owner, "")
			m.mutex(key).Unlock()
		}
		return ok, err
	})
	// newOneAtATime is right: it holds a mutex during each command.
	newOneAtATime = managing(func(ctx context.Context, m *manager, key, owner string, ttl time.Duration) (bool, error) {
		defer m.mutex("all").Unlock()
		m.mutex("all").Lock()
		return m.take(ctx, key, owner, ttl)
	}, func(ctx context.Context, m *manager, key, owner string) (bool, error) {
		defer m.mutex("all").Unlock()
		m.mutex("all").Lock()
		return m.give(ctx, key, owner)
	})
	// newTriesLocal is right: a goroutine that finds another of its process at work is refused without asking Redis.
	newTriesLocal = managing(func(ctx context.Context, m *manager, key, owner string, ttl time.Duration) (bool, error) {
		if !m.mutex(key).TryLock() {
			return false, nil
		}
		defer m.mutex(key).Unlock()
		return m.take(ctx, key, owner, ttl)
	}, func(ctx context.Context, m *manager, key, owner string) (bool, error) { return m.give(ctx, key, owner) })
	// newForgetsMutex keeps its mutex locked when Redis has refused, so that others of the process wait for ever.
	newForgetsMutex = managing(func(ctx context.Context, m *manager, key, owner string, ttl time.Duration) (bool,
		error) {
		m.mutex(key).Lock()
		return m.take(ctx, key, owner, ttl)
	}, func(ctx context.Context, m *manager, key, owner string) (bool, error) {
		defer m.mutex(key).Unlock()
		return m.give(ctx, key, owner)
	})
)

// redsyncs is a manager on redsync, which keeps its mutexes in a map.
type redsyncs struct {
	redsync *redsync.Redsync
	mu      sync.Mutex
	held    map[string]*redsync.Mutex
	name    func(key, owner string) string // by which it keeps them
}

func newRedsyncs(name func(key, owner string) string) func(*redis.Client) *redsyncs {
	return func(r *redis.Client) *redsyncs {
		return &redsyncs{redsync: redsync.New(goredis.NewPool(r)), held: map[string]*redsync.Mutex{}, name: name}
	}
}

func (l *redsyncs) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	m := l.redsync.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(1))
	err := m.TryLockContext(ctx)
	var taken *redsync.ErrTaken
	if err != nil {
		if errors.As(err, &taken) {
			err = nil
		}
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[l.name(key, owner)] = m
	return true, nil
}

func (l *redsyncs) Release(ctx context.Context, key, owner string) (bool, error) {
	l.mu.Lock()
	m := l.held[l.name(key, owner)]
	l.mu.Unlock()
	if m == nil {
		return false, nil
	}
	ok, err := m.UnlockContext(ctx)
	if errors.Is(err, redsync.ErrLockAlreadyExpired) {
		return false, nil
	}
	return ok, err
}

// sharing returns options for a search of 3 goroutines, of which two share a value.
func sharing(s granttest.Search) granttest.LockOptions {
	s.Minimize, s.For = -1, cmp.Or(s.For, 10*time.Minute) // against hanging: beside other tests it may take minutes
	return granttest.LockOptions{Search: s, Load: granttest.Load{Skip: true}}
}

var (
	calm = sharing(granttest.Search{Crashes: -1, LostAnswers: -1})
	two  = sharing(granttest.Search{Clients: 2, LostAnswers: -1}) // goroutines of one process, without a crash
)

func TestManagersThatGoroutinesShare(t *testing.T) {
	requireSaid(t, map[string]saying{
		"a mutex that stays locked": {lock(granttest.Shared(newForgetsMutex), calm),
			"deadlock.* waits for ever in memory"},
	})
}

func TestLongManagersThatGoroutinesShare(t *testing.T) {
	testenv.NeedLong(t)
	requireSaid(t, map[string]saying{
		"an owner for each name":    {lock(granttest.Shared(newByName), calm), "stolen-release|double-grant"},
		"one token for the process": {lock(granttest.Shared(newOneTokenOfProcess), calm), "double-grant"},
		"fresh tokens":              {lock(granttest.Shared(newFreshTokens), two), ""},
		"a stale cache":             {lock(granttest.Shared(newStaleCache), calm), "double-grant"},
		"redsync, by name": {lock(granttest.Shared(newRedsyncs(func(key, _ string) string { return key })),
			calm), "stolen-release|double-grant"},
		"redsync, by name and owner": {lock(granttest.Shared(newRedsyncs(func(key,
			owner string) string {
			return key + owner
		})), two), ""},
		"a mutex first, then Redis":    {lock(granttest.Shared(newLocalFirst), two), ""},
		"a mutex during each command":  {lock(granttest.Shared(newOneAtATime), two), ""},
		"refuses goroutines by itself": {lock(granttest.Shared(newTriesLocal), two), ""},
		"a filter": {dedup(granttest.Shared(newGoodFilter),
			granttest.DedupOptions{Search: granttest.Search{Clients: 2, Crashes: -1, LostAnswers: -1}, Load: two.Load}),
			""},
	})
}

// newSharedByAll makes one manager for all callers, like a variable of a package.
func newSharedByAll() func(redis.UniversalClient) *manager {
	var once sync.Once
	var one *manager
	return func(r redis.UniversalClient) *manager {
		once.Do(func() { one = newFreshTokens(r) })
		return one
	}
}

// view is a client's own value around a manager that all clients share.
type view struct{ *manager }

// fencing returns the token of the last grant to any client.
type fencing struct{ *manager }

func (fencing) Fence() string { return "1" }

// Each misuse of shared values fails with one clear line. So does a client that uses another client's connection.
func TestBadSharing(t *testing.T) {
	byAll := newSharedByAll()
	var none func(redis.UniversalClient) *manager
	crash := granttest.LockOptions{Load: granttest.Load{Faults: []granttest.Fault{granttest.CrashClients()}}}
	eachBad(t, map[string]bad{
		"one value for all": {lock(newSharedByAll(), onlySearch), []string{
			"the constructor returned one value for two clients: let it make one for each",
			"write granttest.Lock(t, granttest.Shared(newIt))",
		}},
		"one value for all, in a load": {lock(newSharedByAll(), onlyLoad),
			[]string{"the constructor returned one value for two clients"}},
		"one value for two processes": {lock(granttest.Shared(newSharedByAll()), onlySearch),
			[]string{"the constructor returned one value for two processes"}},
		"views of one value": {lock(func(r redis.UniversalClient) *view { return &view{byAll(r)} }, onlySearch),
			[]string{
				"unknown: ", "client 2's SET lock client-12 px 10500 nx used client 1's connection",
				"granttest.Shared",
			}},
		"a shared Fence": {
			lock(granttest.Shared(func(r redis.UniversalClient) fencing { return fencing{newFreshTokens(r)} })),
			[]string{"granttest_test.fencing has Fence(), the token of the last grant, and its goroutines share it"},
		},
		"a shared value that is nil": {lock(granttest.Shared(func(redis.UniversalClient) *manager { return nil }),
			onlySearch), []string{"the constructor returned nil"}},
		"no shared constructor": {lock(granttest.Shared(none)), []string{"the constructor is nil"}},
		"shared, of what there is not": {lock(granttest.Shared(func(*redis.ClusterClient) *manager { return nil })),
			[]string{"takes a *redis.ClusterClient, but granttest passes a *redis.Client"}},
		"a shared constructor panics": {lock(granttest.Shared(func(redis.UniversalClient) *manager { panic("no configuration") }), onlySearch), []string{"the constructor panicked: no configuration"}},
		"goroutines that share nothing": {lock(newGoodLock,
			granttest.LockOptions{Search: granttest.Search{Goroutines: 2}}),
			[]string{"the options: the field Goroutines is the number of clients that share a value"}},
		"crashes of goroutines in a load": {lock(granttest.Shared(newFreshTokens), crash),
			[]string{"the options: CrashClients ends single goroutines"}},
	})
}

// A load of goroutines that share a value passes a right manager and finds a wrong one.
func TestALoadOfSharedValues(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves loads out")
	}
	t.Chdir(t.TempDir())
	alone := granttest.LockOptions{TTL: 300 * time.Millisecond, Search: granttest.Search{Skip: true},
		Load: granttest.Load{Clients: 12, Goroutines: 4}}
	record(t, "TestRight", lock(granttest.Shared(newFreshTokens), alone)).passes(t)
	require.Regexp(t, "stolen-release|double-grant",
		record(t, "TestWrong", lock(granttest.Shared(newOneTokenOfProcess), alone)).failure(t))
}
