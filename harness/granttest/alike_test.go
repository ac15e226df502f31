package granttest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// fourClients shapes a search of four clients in which a lease may end, without a load.
var fourClients = granttest.LockOptions{
	Search: granttest.Search{Clients: 4, Crashes: -1, LostAnswers: -1, Late: -1, For: 2 * time.Minute},
	Load:   granttest.Load{Skip: true},
}

// newMistaken makes a lock whose release deletes the key if isOwner is true. isOwner is a mistaken comparison, in Lua,
// of the stored value v with the caller ARGV[1].
func newMistaken(isOwner string) func(redis.UniversalClient) *objectLock {
	script := redis.NewScript("local v = redis.call('get', KEYS[1]) if v and " + isOwner +
		" then return redis.call('del', KEYS[1]) end return 0")
	return ofObject(objectLock{release: func(ctx context.Context, l *objectLock, key, owner string) (bool, error) {
		n, err := script.Run(ctx, l.redis, []string{key}, owner).Int()
		return n == 1, err
	}})
}

// A search of four clients assumes that they differ only in their names. It still finds a lock that compares only
// prefixes of names.
func TestFourClientsAreTakenToDifferInTheirNamesOnly(t *testing.T) {
	t.Chdir(t.TempDir())
	right := record(t, t.Name(), lock(newGoodLock, fourClients))
	right.passes(t)
	log := strings.Join(right.logs, "\n")
	require.Regexp(t, `no order of commands breaks it: all \d+ schedules of 3 clients`, log)
	require.Regexp(t, `no order of commands breaks it: all \d+ schedules of 4 clients`, log)
	requireMistaken(t, "v:sub(1, #ARGV[1]) == ARGV[1]")
}

func TestLongFourClientsAreTakenToDifferInTheirNamesOnly(t *testing.T) {
	testenv.NeedLong(t)
	for _, isOwner := range []string{"ARGV[1]:sub(1, #v) == v", "v:lower() == ARGV[1]:lower()", "ARGV[1] >= v",
		"ARGV[1] <= v"} {
		requireMistaken(t, isOwner)
	}
}

// requireMistaken requires that the test finds a lock with this mistaken comparison.
func requireMistaken(t *testing.T, isOwner string) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.Contains(t, record(t, t.Name(), lock(newMistaken(isOwner), fourClients)).failure(t), "stolen-release",
		isOwner)
}
