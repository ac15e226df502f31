//go:build ignore

// A lock of go-zero. Each client uses one RedisLock again and again, and sends another command before each acquire.
package main

import (
	"context"
	"net/url"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

type lock struct {
	store *redis.Redis
	locks map[string]*redis.RedisLock // locks by key
}

func (l *lock) of(key string) *redis.RedisLock {
	if l.locks[key] == nil {
		l.locks[key] = redis.NewRedisLock(l.store, key)
	}
	return l.locks[key]
}

func (l *lock) Acquire(_ context.Context, key, _ string, ttl time.Duration) (bool, error) {
	// A grant without any command would be taken for one that the search cannot see.
	if _, err := l.store.Exists("work"); err != nil {
		return false, err
	}
	l.of(key).SetExpire(int((ttl + time.Second - 1) / time.Second))
	return l.of(key).Acquire()
}

func (l *lock) Release(_ context.Context, key, _ string) (bool, error) {
	return l.of(key).Release()
}

func main() {
	logx.Disable()
	Serve(Says{Symmetric: true, Fresh: true}, func(urls []string) (*lock, error) {
		u, err := url.Parse(urls[0])
		if err != nil {
			return nil, err
		}
		return &lock{redis.New(u.Host), map[string]*redis.RedisLock{}}, nil
	})
}
