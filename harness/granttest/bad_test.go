package granttest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
	"github.com/doublegrant/doublegrant/harness/internal/processes"
)

// This file has users' mistakes. Each gives one clear failure and leaves nothing running.

var (
	onlySearch = granttest.LockOptions{Load: granttest.Load{Skip: true}}
	onlyLoad   = granttest.LockOptions{Search: granttest.Search{Skip: true}, Load: granttest.Load{Clients: 5}}
)

// loaded returns options with the load l.
func loaded(l granttest.Load) granttest.LockOptions { return granttest.LockOptions{Load: l} }

// bad is one mistake, and what its failure has to say.
type bad struct {
	test func(granttest.TB)
	want []string
}

// eachBad runs the tests in parallel, and requires that none leaves a server running.
func eachBad(t *testing.T, all map[string]bad) {
	t.Chdir(t.TempDir())
	t.Cleanup(func() { require.NotContains(t, processes.Children(), "redis-server") })
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := record(t, t.Name(), c.test).failure(t)
			for _, want := range c.want {
				require.Contains(t, failure, want)
			}
			require.NotContains(t, failure, "is not a lock")
		})
	}
}

// A failure names a call that never returns. Only this test shortens the time limit of a call, since on a busy machine
// other calls may take as long.
func TestCallsThatHang(t *testing.T) {
	t.Cleanup(granttest.ShortenCalls(3 * time.Second)) // more than a search waits for a client
	impatient := onlyLoad
	impatient.Load.CallTime, impatient.Load.Clients = time.Second, 50 // so many that some have to wait for a lock
	hangs := acquiring(func(context.Context, goodLock, string, string, time.Duration) (bool, error) {
		<-make(chan bool) // for ever
		return false, nil
	})
	forever := acquiring(func(ctx context.Context, l goodLock, key, owner string, ttl time.Duration) (ok bool,
		_ error) {
		for !ok {
			ok, _ = l.Acquire(context.WithoutCancel(ctx), key, owner, time.Hour)
		}
		return true, nil
	})
	eachBad(t, map[string]bad{
		"in a search": {lock(hangs, onlySearch),
			[]string{`Acquire("lock") has not returned within 3s (it stands at bad_test.go:`}},
		"under load": {lock(hangs, impatient),
			[]string{`Acquire("lock-`, "has not returned within 1s (it stands at bad_test.go:"}},
		"tries for ever": {lock(forever, onlySearch),
			[]string{`Acquire("lock")`, "has not returned within 3s"}},
		"tries for ever, in load": {lock(forever, impatient), []string{`Acquire("lock-`, "has not returned within 1s"}},
	})
}

func TestBadInput(t *testing.T) {
	nothing := func(redis.UniversalClient) *goodLock { return nil }
	noInterface := func(redis.UniversalClient) granttest.Locker { return nil }
	panics := acquiring(func(context.Context, goodLock, string, string, time.Duration) (bool, error) {
		var owner *string
		return *owner == "me", nil // here
	})
	never := acquiring(func(context.Context, goodLock, string, string, time.Duration) (bool, error) {
		return false, nil
	})
	watchdog := acquiring(func(ctx context.Context, l goodLock, key, owner string, ttl time.Duration) (bool, error) {
		ok, err := l.Acquire(ctx, key, owner, ttl)
		if ok {
			go func() { <-ctx.Done() }()
		}
		return ok, err
	})
	eachBad(t, map[string]bad{
		"constructor: nil pointer":    {lock(nothing), []string{"the constructor returned nil"}},
		"constructor: nil interface":  {lock(noInterface), []string{"the constructor returned nil"}},
		"constructor: nil, in a load": {lock(nothing, onlyLoad), []string{"the constructor returned nil"}},
		"constructor: panics": {
			lock(func(redis.UniversalClient) *goodLock { panic("no configuration") }),
			[]string{"the constructor panicked: no configuration (at bad_test.go:"},
		},
		"constructor: of a filter": {dedup(func(redis.UniversalClient) *goodFilter { return nil }),
			[]string{"the constructor returned nil"}},
		"constructor: of numbers": {sequence(func(redis.UniversalClient) *goodSequence { return nil }),
			[]string{"the constructor returned nil"}},
		"constructor: takes what there is not": {
			lock(func(*redis.ClusterClient) *goodLock { return nil }),
			[]string{"takes a *redis.ClusterClient, but granttest passes a *redis.Client"},
		},
		"a method of another signature": {lock(newErrorExtend),
			[]string{"granttest_test.errorExtend has Extend(context.Context, string, string) error, which cannot be " +
				"tested"}},
		"the same, behind an interface": {
			lock(func(r redis.UniversalClient) granttest.Locker { return newErrorExtend(r) }),
			[]string{"granttest_test.errorExtend has Extend(context.Context, string, string) error, which cannot be " +
				"tested"},
		},
		"the same, seen with a server only": {lock(func(r redis.UniversalClient) granttest.Locker {
			if r.Ping(context.Background()).Err() != nil {
				panic("no server")
			}
			return newErrorExtend(r)
		}), []string{"granttest_test.errorExtend has Extend(context.Context, string, string) error, which cannot be " +
			"tested"}},
		"two options values": {lock(newGoodLock, onlyLoad, onlySearch), []string{"give at most one"}},
		"options: clients": {lock(newGoodLock, granttest.LockOptions{Search: granttest.Search{Clients: 9}}),
			[]string{"the options: ", "9 clients: ask for 2 to 4"}},
		"options: time": {
			lock(newGoodLock, granttest.LockOptions{Search: granttest.Search{For: -time.Second}}),
			[]string{"the options: a search cannot last for -1s: leave Search.For out for 5m0s"},
		},
		"options: topology": {lock(newGoodLock, loaded(granttest.Load{Topology: "ring"})),
			[]string{`the options: unknown topology "ring"`}},
		"options: no fault": {lock(newGoodLock, loaded(granttest.Load{Faults: []granttest.Fault{{}}})),
			[]string{"the options: an empty Fault"}},
		"options: thorough, and no load": {lock(newGoodLock, loaded(granttest.Load{Thorough: true, Skip: true})),
			[]string{"the options: Load.Thorough and Load.Skip contradict each other"}},
		"options: thorough and short": {
			lock(newGoodLock, loaded(granttest.Load{Thorough: true, Duration: 9 * time.Second})),
			[]string{"the options: a thorough load lasts for 10s at least, and Load.Duration is 9s"},
		},
		"options: thorough and alone": {lock(newGoodLock, loaded(granttest.Load{Thorough: true, Clients: 1})),
			[]string{"the options: a thorough load of one client"}},
		"options: sentinels": {lock(newGoodLock,
			loaded(granttest.Load{Faults: []granttest.Fault{granttest.SplitBrain(time.Second)}})),
			[]string{"the options: SplitBrain needs Topology: granttest.Sentinel"}},
		"options: duration": {
			lock(newGoodLock, granttest.LockOptions{Search: granttest.Search{Skip: true},
				Load: granttest.Load{Duration: -1}}),
			[]string{"the options: ", "Duration"},
		},
		"panic in a search": {lock(panics, onlySearch),
			[]string{`Acquire("lock") panicked: runtime error: invalid memory address or nil pointer dereference (at bad_test.go:`}},
		"panic under load": {lock(panics, onlyLoad),
			[]string{`Acquire("lock-`, `panicked: runtime error: invalid memory address or nil pointer dereference (at bad_test.go:`}},
		"no success in a search": {lock(never, onlySearch), []string{"unknown: ", "no acquire ever succeeded"}},
		"no success under load":  {lock(never, onlyLoad), []string{"unknown: ", "no acquire was ok"}},
		"a goroutine": {lock(watchdog, onlySearch),
			[]string{"unknown: ", "a goroutine started at bad_test.go:"}},
	})
}

// errorExtend renews any owner's lease. Its Extend returns an error alone, and no bool.
type errorExtend struct{ goodLock }

func newErrorExtend(r redis.UniversalClient) *errorExtend { return &errorExtend{goodLock{r}} }

func (l *errorExtend) Extend(ctx context.Context, key, _ string) error {
	return l.redis.PExpire(ctx, key, time.Second).Err()
}

// A failure names the line that started a timer. The explorer looks for timers of the whole process, so no other search
// may run meanwhile.
func TestATimer(t *testing.T) {
	timer := acquiring(func(ctx context.Context, l goodLock, key, owner string, ttl time.Duration) (bool, error) {
		time.AfterFunc(ttl/3, func() { _ = l.redis.Get(ctx, key) })
		return l.Acquire(ctx, key, owner, ttl)
	})
	eachBad(t, map[string]bad{"after a while": {lock(timer, onlySearch),
		[]string{"unknown: ", "time.AfterFunc at bad_test.go:"}}})
}

// Without a redis-server the failure says what to do: install it, or mend the variable.
func TestNoRedis(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for server, want := range map[string]string{
		"":      "install it (Debian: apt-get install redis-server) or set DOUBLEGRANT_REDIS_SERVER",
		"/nope": `DOUBLEGRANT_REDIS_SERVER is set to "/nope", which cannot be run`,
	} {
		t.Setenv("DOUBLEGRANT_REDIS_SERVER", server)
		failure := record(t, "TestIt", lock(newGoodLock)).failure(t)
		require.Contains(t, failure, want)
		require.Equal(t, server == "", strings.Contains(failure, "install"))
	}
}
