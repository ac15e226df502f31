package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// lock/fenced, the reference lock with a fencing token.
//
//	acquire  script: SET key owner NX PX ttl, INCR key:fence; the counter's value is the token
//	release  script: GET, compare, DEL
//
// Source: Kleppmann 2016; Redis documentation, "Distributed locks". A resource that refuses tokens smaller than one it
// has seen is safe from owners that were paused beyond their lease. A failover may forget a granted lock together with
// the counter. Then the next owner gets a token that was issued before.
func fenced() Variant {
	return lockVariant("lock/fenced", newFenced, Variant{
		Doc:    "script of SET NX PX and INCR of a fencing token; release by compare-and-delete script",
		Source: "Kleppmann 2016; Redis docs",
		Claim:  OneNode,
		Flaws: []Flaw{
			{harness.DoubleGrant, Failover},
			{harness.FenceRegression, Failover},
		},
	})
}

type fencedLock struct {
	setNXPXLock
	setIncr *redis.Script
	fence   string
}

func newFenced(r redis.UniversalClient) Locker {
	return &fencedLock{setNXPXLock: compareDeleteLock(r), setIncr: redis.NewScript(lua.LockFenced)}
}

func (l *fencedLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	fence, err := l.setIncr.Run(ctx, l.redis, []string{key, key + ":fence"}, owner, ttl.Milliseconds()).Text()
	if err == redis.Nil {
		return false, nil
	}
	if err == nil {
		l.fence = fence
	}
	return err == nil, err
}

func (l *fencedLock) Fence() string { return l.fence }
