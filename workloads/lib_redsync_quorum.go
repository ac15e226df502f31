package workloads

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncpool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// lib/redsync-quorum is go-redsync/redsync v4 on a pool for each of N masters, unmodified.
//
//	acquire  on all pools at once, SETNX with PX, within a twentieth of the lease; granted if a majority took it before
//	         ttl - ttl/100 has passed; otherwise the release
//	extend   on all pools at once, script: GET, compare, PEXPIRE
//	release  on all pools at once, script: GET, compare, DEL
//
// Source: the library, after Redis documentation, "Distributed Locks with Redis". Unlike lock/redlock it asks all
// masters at once. So clients that come at the same time split the masters more often, and then none of these clients
// is granted the lock. The only time limit for extending and releasing is the client's own.
func libRedsyncQuorum() Variant {
	return quorumVariant("lib/redsync-quorum", newRedsyncQuorum, Variant{
		Doc:    "go-redsync/redsync v4 with a pool for each master, one try",
		Source: "github.com/go-redsync/redsync",
		Flaws:  forgottenByAMaster(),
	})
}

type redsyncQuorumLock struct {
	redsyncLock
	pools int
}

func newRedsyncQuorum(masters []redis.UniversalClient) Locker {
	var pools []redsyncpool.Pool
	for _, r := range masters {
		pools = append(pools, goredis.NewPool(r))
	}
	return &redsyncQuorumLock{redsyncOn(pools...), len(pools)}
}

// Acquire returns false only if every master refused. Any other failure is errGivenBack, since the library has released
// what it took.
func (l *redsyncQuorumLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	m := l.mutex(key, owner, ttl)
	err := m.TryLockContext(ctx)
	switch {
	case err == nil:
		l.held[grant{key, owner}] = m
		return true, nil
	case countNoes(err) == l.pools:
		return false, nil
	}
	return false, errors.Join(errGivenBack, err)
}

// Extend returns true if the lease was renewed and false if every master refused. Otherwise it returns an error, since
// the library does not tell whether some masters renewed it.
func (l *redsyncQuorumLock) Extend(ctx context.Context, key, owner string, _ time.Duration) (bool, error) {
	m := l.held[grant{key, owner}]
	if m == nil {
		return false, nil
	}
	ok, err := m.ExtendContext(ctx)
	switch {
	case ok:
		return true, nil
	case countNoes(err) == l.pools:
		return false, nil
	case err == nil:
		return false, errInPart
	}
	return false, err
}

func (l *redsyncQuorumLock) Release(ctx context.Context, key, owner string) (bool, error) {
	m := l.held[grant{key, owner}]
	if m == nil {
		return false, nil
	}
	delete(l.held, grant{key, owner})
	ok, err := m.UnlockContext(ctx)
	if ok || l.outvoted(err) {
		return ok, nil // a majority answered so, whatever the others said
	}
	return false, err
}

// outvoted reports whether so many masters said no that the other masters are not a majority.
func (l *redsyncQuorumLock) outvoted(err error) bool { return countNoes(err) > l.pools-(l.pools/2+1) }

// countNoes counts the masters that said no: their key was taken, another owner's, or gone. The library joins one error
// for each master. But if a majority refused, one error names the masters that refused, and the other errors are
// dropped.
func countNoes(err error) int {
	switch e := err.(type) {
	case *redsync.ErrTaken:
		return len(e.Nodes)
	case *redsync.ErrNodeTaken:
		return 1
	case interface{ Unwrap() []error }:
		sum := 0
		for _, err := range e.Unwrap() {
			sum += countNoes(err)
		}
		return sum
	}
	if err == redsync.ErrLockAlreadyExpired {
		return 1
	}
	return 0
}
