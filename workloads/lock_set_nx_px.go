package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// lock/set-nx-px, the reference lock of one Redis.
//
//	acquire  SET key owner NX PX ttl
//	release  script: GET, compare, DEL
//
// Source: Redis documentation, "Distributed locks"; the CSDN collection on Redis locks. Safe on one node. Replication
// is asynchronous: a failover may forget a granted lock, and a partition may leave two primaries that each grant it.
func setNXPX() Variant {
	return lockVariant("lock/set-nx-px", newSetNXPX, Variant{
		Doc:    "SET NX PX with a unique owner; release by compare-and-delete script",
		Source: "Redis docs; CSDN collection on Redis locks",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.DoubleGrant, Failover}},
	})
}

type setNXPXLock struct {
	redis         redis.UniversalClient
	compareDelete *redis.Script
}

func newSetNXPX(r redis.UniversalClient) Locker {
	l := compareDeleteLock(r)
	return &l
}

// compareDeleteLock returns a reference lock. Other variants embed it for its release.
func compareDeleteLock(r redis.UniversalClient) setNXPXLock {
	return setNXPXLock{redis: r, compareDelete: redis.NewScript(lua.CompareDelete)}
}

func (l *setNXPXLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return repliedOK(l.redis.SetArgs(ctx, key, owner, redis.SetArgs{Mode: "NX", TTL: ttl}))
}

func (l *setNXPXLock) Release(ctx context.Context, key, owner string) (bool, error) {
	return saysYes(l.compareDelete.Run(ctx, l.redis, []string{key}, owner))
}

// repliedOK reads the reply of SET NX: OK, or nil when the key exists.
func repliedOK(cmd *redis.StatusCmd) (bool, error) {
	err := cmd.Err()
	if err == redis.Nil {
		return false, nil
	}
	return err == nil, err
}
