//go:build ignore

// A lock of Goravel's cache. The cache's driver for Redis is a module of its own; the type driver stands for it.
package main

import (
	"context"
	"time"

	"github.com/goravel/framework/cache"
	contracts "github.com/goravel/framework/contracts/cache"
	"github.com/redis/go-redis/v9"
)

// driver has the two methods of goravel's cache driver that a lock calls. They do what the documentation promises.
type driver struct {
	contracts.Driver // nil: a lock calls only driver's own methods
	redis            *redis.Client
	err              error // error of the last command
}

func (d *driver) Add(key string, value any, ttl time.Duration) (added bool) {
	added, d.err = d.redis.SetNX(context.Background(), key, value, ttl).Result()
	return added
}

func (d *driver) Forget(key string) bool {
	d.err = d.redis.Del(context.Background(), key).Err()
	return d.err == nil
}

type lock struct {
	driver *driver
	held   map[string]contracts.Lock
}

func (l *lock) Acquire(_ context.Context, key, owner string, ttl time.Duration) (bool, error) {
	h := cache.NewLock(l.driver, key, ttl)
	ok := h.Get()
	l.held[key+owner] = h
	return ok, l.driver.err
}

func (l *lock) Release(_ context.Context, key, owner string) (bool, error) {
	return l.held[key+owner].Release(), l.driver.err
}

func main() {
	Serve(Says{Symmetric: true}, func(urls []string) (*lock, error) {
		o, err := redis.ParseURL(urls[0])
		if err != nil {
			return nil, err
		}
		o.MaxRetries = -1
		return &lock{&driver{redis: redis.NewClient(o)}, map[string]contracts.Lock{}}, nil
	})
}
