//go:build ignore

// A release that removes another owner's lock, on a Redis at 127.0.0.1:6379.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/goravel/framework/cache"
	contracts "github.com/goravel/framework/contracts/cache"
	"github.com/redis/go-redis/v9"
)

type driver struct {
	contracts.Driver // nil: a lock calls only driver's own methods
	redis            *redis.Client
}

func (d driver) Add(key string, value any, ttl time.Duration) bool {
	return d.redis.SetNX(context.Background(), key, value, ttl).Val()
}

func (d driver) Forget(key string) bool {
	return d.redis.Del(context.Background(), key).Err() == nil
}

func main() {
	d := driver{redis: redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})}
	first, second, third := cache.NewLock(d, "example", time.Second), cache.NewLock(d, "example", time.Minute),
		cache.NewLock(d, "example", time.Minute)
	fmt.Println("first gets:    ", first.Get())
	time.Sleep(1100 * time.Millisecond) // its lease ends
	fmt.Println("second gets:   ", second.Get())
	fmt.Println("first releases:", first.Release()) // true, and should be false
	fmt.Println("third gets:    ", third.Get())     // true, while second is the owner
}
