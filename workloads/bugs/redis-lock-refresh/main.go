//go:build ignore

// A lock of bsm/redis-lock, whose method Lock also renews a lock that is held.
package main

import (
	"context"
	"strings"
	"time"

	lock "github.com/bsm/redis-lock"
	"github.com/go-redis/redis"
)

type locks struct {
	redis *redis.Client
	held  map[string]*lock.Lock
}

func (l *locks) Acquire(_ context.Context, key, owner string, ttl time.Duration) (bool, error) {
	delete(l.held, key+owner) // of an earlier schedule
	m := lock.NewLock(l.redis, key, &lock.LockOptions{LockTimeout: ttl})
	ok, err := m.Lock()
	if ok {
		l.held[key+owner] = m
	}
	return ok, err
}

func (l *locks) Extend(_ context.Context, key, owner string, _ time.Duration) (bool, error) {
	if m := l.held[key+owner]; m != nil {
		return m.Lock()
	}
	return false, nil
}

func (l *locks) Release(_ context.Context, key, owner string) (bool, error) {
	m := l.held[key+owner]
	if m == nil {
		return false, nil
	}
	err := m.Unlock()
	return err == nil, err
}

func main() {
	Serve(Says{Symmetric: true}, func(urls []string) (*locks, error) {
		address := strings.TrimPrefix(urls[0], "redis://")
		return &locks{redis.NewClient(&redis.Options{Addr: address}), map[string]*lock.Lock{}}, nil
	})
}
