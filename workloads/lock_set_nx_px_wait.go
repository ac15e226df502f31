package workloads

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// lock/set-nx-px-wait, the reference lock with an acknowledgement by one replica.
//
//	acquire  SET key owner NX PX ttl; WAIT 1 20, on the same connection; fewer acknowledgements: release, not granted
//	release  script: GET, compare, DEL
//
// Source: Redis documentation of WAIT, which answers the flaw named in 002 §6. Fewer double grants after a failover,
// not zero: the replica that acknowledged need not be the one that is promoted, and during a partition both sides may
// have one.
func setNXPXWait() Variant {
	return lockVariant("lock/set-nx-px-wait", newSetNXPXWait, Variant{
		Doc:    "SET NX PX, then WAIT for one replica, else release; release by compare-and-delete script",
		Source: "Redis docs; 002 §6",
		Claim:  OneNode,
		Acks:   waitAcks,
		Flaws:  []Flaw{{harness.DoubleGrant, Failover}},
	})
}

// What every variant with a WAIT asks for: the word of one replica, within a few round trips.
const (
	waitAcks    = 1
	waitTimeout = 20 * time.Millisecond
)

type setNXPXWaitLock struct{ setNXPXLock }

func newSetNXPXWait(r redis.UniversalClient) Locker { return &setNXPXWaitLock{compareDeleteLock(r)} }

func (l *setNXPXWaitLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	var set *redis.StatusCmd
	replicated := writeAndWait(ctx, l.redis, func(p redis.Pipeliner) {
		set = p.SetArgs(ctx, key, owner, redis.SetArgs{Mode: "NX", TTL: ttl})
	})
	if ok, err := granted(set); err != nil || !ok {
		return false, err
	}
	if !errors.Is(replicated, errFewAcks) {
		return replicated == nil, replicated
	}
	return false, l.giveBack(ctx, key, owner)
}

// errGone says that a lock which was to be given back is not on the primary any more. Its SET may be on another one.
var errGone = errors.New("gone before it was given back")

// giveBack releases a lock that was taken for certain, and says so.
func (l *setNXPXWaitLock) giveBack(ctx context.Context, key, owner string) error {
	mine, err := l.Release(ctx, key, owner)
	switch {
	case err != nil:
		return err
	case !mine:
		return errGone
	}
	return errGivenBack
}
