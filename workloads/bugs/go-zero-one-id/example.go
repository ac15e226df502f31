//go:build ignore

// A late release that deletes a later hold, on a Redis at 127.0.0.1:6379.
package main

import (
	"fmt"
	"time"

	"github.com/zeromicro/go-zero/core/stores/redis"
)

func main() {
	store := redis.New("127.0.0.1:6379")
	lock := redis.NewRedisLock(store, "example")
	lock.SetExpire(1)
	fmt.Println(lock.Acquire())                                 // the first hold
	time.Sleep(2 * time.Second)                                 // its lease ends
	fmt.Println(lock.Acquire())                                 // the second hold
	fmt.Println(lock.Release())                                 // the release of the first comes late, and returns true
	fmt.Println(redis.NewRedisLock(store, "example").Acquire()) // true: another owner, while the second hold lasts
}
