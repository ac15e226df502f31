package granttest_test

import (
	"context"
	"errors"
	"log"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

// This file has libraries as users run them: with their own pool, logger and lease.

// ownPool makes a Redis client with its own pool, like a library that is given a dialer instead of a client.
func ownPool(r *redis.Client) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: r.Options().Dialer, MinIdleConns: 4,
		MaxRetries: -1})
}

// loggingLock is redislock for a user who logs each error with the time.
type loggingLock struct {
	client *redislock.Client
	held   map[string]*redislock.Lock
}

func newLoggingLock(r *redis.Client) loggingLock {
	return loggingLock{redislock.New(ownPool(r)), map[string]*redislock.Lock{}}
}

func logged(ok bool, err error) (bool, error) {
	if err != nil {
		log.Printf("%s: the lock: %v", time.Now().Format(time.RFC3339Nano), err)
	}
	return ok && err == nil, err
}

func (l loggingLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	got, err := l.client.Obtain(ctx, key, ttl, &redislock.Options{Token: owner + "-0123456789abcdef"[:24-len(owner)]})
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	l.held[key+owner] = got
	return logged(true, err)
}

func (l loggingLock) Release(ctx context.Context, key, owner string) (bool, error) {
	err := l.held[key+owner].Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return false, nil
	}
	return logged(true, err)
}

// hastyLock is redsync with its default lease of 8 seconds, as if its user had overlooked WithExpiry.
type hastyLock struct {
	redsync *redsync.Redsync
	held    map[string]*redsync.Mutex
}

func newHastyLock(r *redis.Client) hastyLock {
	return hastyLock{redsync.New(goredis.NewPool(ownPool(r))), map[string]*redsync.Mutex{}}
}

func (l hastyLock) Acquire(ctx context.Context, key, owner string, _ time.Duration) (bool, error) {
	m := l.redsync.NewMutex(key, redsync.WithTries(1),
		redsync.WithGenValueFunc(func() (string, error) { return owner, nil }))
	l.held[key+owner] = m
	var taken *redsync.ErrTaken
	if err := m.TryLockContext(ctx); !errors.As(err, &taken) {
		return err == nil, err
	}
	return false, nil
}

func (l hastyLock) Release(ctx context.Context, key, owner string) (bool, error) {
	ok, err := l.held[key+owner].UnlockContext(ctx)
	if errors.Is(err, redsync.ErrLockAlreadyExpired) {
		return false, nil
	}
	return ok, err
}

func TestLibrariesAsTheyCome(t *testing.T) {
	t.Chdir(t.TempDir())
	two := granttest.LockOptions{Search: granttest.Search{Clients: 2, Minimize: -1}, Load: granttest.Load{Skip: true}}
	t.Run("on a pool of its own, with a logger", func(t *testing.T) {
		t.Parallel()
		right := record(t, "TestIt", lock(newLoggingLock, two))
		right.passes(t)
		require.Regexp(t, `lines of package log were left out, after the first 20`, right.logs[len(right.logs)-1])
	})
	t.Run("with its own lease", func(t *testing.T) {
		t.Parallel()
		failure := record(t, "TestIt", lock(newHastyLock, two)).failure(t)
		require.Contains(t, failure, "double-grant in ")
		require.Contains(t, failure, "holds lock until 10.5s, but lock lasts 8s, 10.5s were asked for")
	})
}
