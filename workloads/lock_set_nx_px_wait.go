package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// lock/set-nx-px-wait, the reference lock with an acknowledgement by one replica, or by as many as the options ask for.
//
//	acquire  SET key owner NX PX ttl; WAIT n 20, on the same connection; fewer acknowledgements: release, not granted
//	release  script: GET, compare, DEL
//
// Source: Redis documentation of WAIT, which answers the flaw named in the CSDN collection on Redis locks, section 6. A
// failover then causes fewer double grants, not none: a replica other than the one that acknowledged may be promoted,
// and during a partition both sides may have a replica. With two replicas and WAIT 2, a primary that a partition leaves
// with fewer than both replicas cannot grant the lock.
func setNXPXWait(acks int) Variant {
	return lockVariant("lock/set-nx-px-wait", newSetNXPXWait(waitFor(acks)), Variant{
		Doc:     fmt.Sprintf("SET NX PX, then WAIT %d, else release; release by compare-and-delete script", acks),
		Source:  "Redis docs; CSDN collection on Redis locks, section 6",
		Claim:   OneNode,
		Acks:    acks,
		waiting: setNXPXWait,
		Flaws:   []Flaw{{harness.DoubleGrant, Failover}},
	})
}

type setNXPXWaitLock struct {
	setNXPXLock
	wait waitArguments
}

func newSetNXPXWait(w waitArguments) func(redis.UniversalClient) Locker {
	return func(r redis.UniversalClient) Locker { return &setNXPXWaitLock{compareDeleteLock(r), w} }
}

func (l *setNXPXWaitLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	var set *redis.StatusCmd
	replicated := l.wait.write(ctx, l.redis, func(p redis.Cmdable) {
		set = p.SetArgs(ctx, key, owner, redis.SetArgs{Mode: "NX", TTL: ttl})
	})
	if ok, err := repliedOK(set); err != nil || !ok {
		return false, err
	}
	if !errors.Is(replicated, errFewAcks) {
		return replicated == nil, replicated
	}
	return false, l.giveBack(ctx, key, owner)
}

// errGone says that a lock which was to be released is no longer on the primary. The SET that took the lock may be on
// another primary.
var errGone = errors.New("gone before it was given back")

// giveBack releases a lock that was certainly taken. It returns errGivenBack if it has released the lock, and errGone
// if there was no such lock.
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
