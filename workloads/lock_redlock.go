package workloads

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// lock/redlock, the Redis documentation's lock on N independent masters, usually five.
//
//	acquire  on every master in turn, SET key owner NX PX ttl, each answered within ttl/20 (5 to 50 ms); granted if a
//	         majority said OK before ttl - (ttl/100 + 2 ms) had passed; otherwise release
//	extend   on every master in turn, script: GET, compare, PEXPIRE; renewed on the same terms
//	release  on every master in turn, whatever it said to the SET, script: GET, compare, DEL
//
// Source: Redis documentation, "Distributed Locks with Redis". The time that has passed is measured by the client's own
// clock, from before the first SET. A checker counts the lease from the call of the acquire, which is earlier, and
// allows for the run's own drift. So for the checker the lease ends at most 2 ms later than for the client. Every
// master keeps the key for longer.
//
// Safe while a majority of masters lives and keeps what it was told. If a master of the majority forgets a lock inside
// its lease, there may be a second owner. A master forgets if it comes back without its data, if its clock steps
// forward, or if it evicts keys. The documentation asks for appendfsync always, or that a master which was down stays
// away for the longest lease. A client that is paused beyond its lease still believes that it has the lock: there are
// no fencing tokens.
func redlock() Variant {
	return quorumVariant("lock/redlock", newRedlock, Variant{
		Doc: "SET NX PX on a majority of independent masters within the lease; release by compare-and-delete script " +
			"on all",
		Source: "Redis docs",
		Flaws:  forgottenByAMaster(),
	})
}

// forgottenByAMaster lists the flaws of every quorum lock here.
func forgottenByAMaster() []Flaw {
	return []Flaw{
		{harness.DoubleGrant, NodeRestart},
		{harness.DoubleGrant, NodeClock},
		{harness.DoubleGrant, MemoryEvicts},
	}
}

type redlockLock struct {
	masters       []redis.UniversalClient
	compareDelete *redis.Script
	compareExpire *redis.Script
	maxTimeout    time.Duration // upper bound of timeout
	timeout       time.Duration // how long to wait for one master
}

func newRedlock(masters []redis.UniversalClient) Locker {
	return &redlockLock{
		masters: masters, maxTimeout: maxMasterTimeout, timeout: maxMasterTimeout,
		compareDelete: redis.NewScript(lua.CompareDelete), compareExpire: redis.NewScript(lua.ComparePExpire),
	}
}

// Acquire returns false if no master said yes and a majority said no. If it got too few masters, or was too late, it
// returns errGivenBack. In that case perhaps nobody has the lock. A caller that tries again should wait for a random
// time, as the documentation asks.
func (l *redlockLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	l.timeout = min(masterTimeout(ttl), l.maxTimeout)
	start := harness.Now(ctx)
	v := l.ask(ctx, func(ctx context.Context, r redis.UniversalClient) (bool, error) {
		return repliedOK(r.SetArgs(ctx, key, owner, redis.SetArgs{Mode: "NX", TTL: ttl}))
	})
	if v.majorityYes() && leaseLeft(ctx, start, ttl) {
		return true, nil
	}
	_ = l.deleteAll(ctx, key, owner) // the ballot of the operation notes what it may have left
	switch {
	case v.yes == 0 && v.majorityNo():
		return false, nil
	case v.yes+v.no == 0:
		return false, v.err
	}
	return false, errors.Join(errGivenBack, v.err)
}

// Extend returns an error if it renewed the lock on fewer masters than a majority, or too late. Some masters then keep
// the key for longer, although the lock is not the caller's.
func (l *redlockLock) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	l.timeout = min(masterTimeout(ttl), l.maxTimeout)
	start := harness.Now(ctx)
	v := l.ask(ctx, func(ctx context.Context, r redis.UniversalClient) (bool, error) {
		return saysYes(l.compareExpire.Run(ctx, r, []string{key}, owner, ttl.Milliseconds()))
	})
	switch {
	case v.majorityYes() && leaseLeft(ctx, start, ttl):
		return true, nil
	case v.yes == 0 && v.majorityNo():
		return false, nil
	case v.yes > 0:
		return false, errors.Join(errInPart, v.err)
	}
	return false, v.err
}

// errInPart is the error of an Extend that renewed the lock on too few masters, or too late.
var errInPart = errors.New("renewed in part, or too late")

func (l *redlockLock) Release(ctx context.Context, key, owner string) (bool, error) {
	v := l.deleteAll(ctx, key, owner)
	switch {
	case v.majorityYes():
		return true, nil
	case v.majorityNo():
		return false, nil
	}
	return false, v.err
}

func (l *redlockLock) deleteAll(ctx context.Context, key, owner string) votes {
	return l.ask(ctx, func(ctx context.Context, r redis.UniversalClient) (bool, error) {
		return saysYes(l.compareDelete.Run(ctx, r, []string{key}, owner))
	})
}

// ask puts the question to the masters, one after the other, and counts the answers.
func (l *redlockLock) ask(
	ctx context.Context, question func(context.Context, redis.UniversalClient) (bool, error),
) votes {
	var v votes
	for _, r := range l.masters {
		ctx, cancel := context.WithTimeout(ctx, l.timeout)
		v.cast(question(ctx, r))
		cancel()
	}
	return v
}

// leaseLeft reports whether a lease that began at the given time still lasts. It takes a hundredth of the lease off for
// clocks that differ, and 2 ms for the precision of Redis's expiries.
func leaseLeft(ctx context.Context, start time.Time, ttl time.Duration) bool {
	const expiryStep = 2 * time.Millisecond
	return harness.Now(ctx).Sub(start) < ttl-ttl/100-expiryStep
}

// masterTimeout returns how long a quorum lock waits for one master: a twentieth of the lock's lease. So there is time
// to ask the other masters after some that do not answer.
func masterTimeout(ttl time.Duration) time.Duration { return max(ttl/20, minMasterTimeout) }

const minMasterTimeout, maxMasterTimeout = 5 * time.Millisecond, 50 * time.Millisecond
