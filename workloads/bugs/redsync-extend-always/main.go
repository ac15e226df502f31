//go:build ignore

// A lock of go-redsync/redsync on go-redis v8, with one try.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-redis/redis/v8"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v8"
)

type lock struct {
	redsync *redsync.Redsync
	held    map[string]*redsync.Mutex
}

func (l *lock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	delete(l.held, key+owner) // of an earlier schedule
	m := l.redsync.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(1))
	err := m.LockContext(ctx)
	if errors.Is(err, redsync.ErrFailed) {
		return false, nil
	}
	if err == nil {
		l.held[key+owner] = m
	}
	return err == nil, err
}

func (l *lock) Extend(ctx context.Context, key, owner string, _ time.Duration) (bool, error) {
	if m := l.held[key+owner]; m != nil {
		return m.ExtendContext(ctx)
	}
	return false, nil
}

func (l *lock) Release(ctx context.Context, key, owner string) (bool, error) {
	if m := l.held[key+owner]; m != nil {
		return m.UnlockContext(ctx)
	}
	return false, nil
}

func main() {
	Serve(Says{Symmetric: true}, func(urls []string) (*lock, error) {
		o, err := redis.ParseURL(urls[0])
		if err != nil {
			return nil, err
		}
		o.MaxRetries = -1
		return &lock{redsync.New(goredis.NewPool(redis.NewClient(o))), map[string]*redsync.Mutex{}}, nil
	})
}
