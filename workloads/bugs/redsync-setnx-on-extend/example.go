//go:build ignore

// A renewal that succeeds although another owner had the lock meanwhile, on a Redis at 127.0.0.1:6379.
package main

import (
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	rs := redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})))
	first := rs.NewMutex("example", redsync.WithExpiry(time.Second), redsync.WithSetNXOnExtend())
	second := rs.NewMutex("example", redsync.WithExpiry(time.Second))
	fmt.Println("first locks:   ", first.Lock())
	time.Sleep(1100 * time.Millisecond) // its lease ends
	fmt.Println("second locks:  ", second.Lock())
	_, err := second.Unlock()
	fmt.Println("second unlocks:", err)
	ok, err := first.Extend()
	fmt.Println("first extends: ", ok, err) // true <nil>, although it has lost the lock in between
}
