//go:build ignore

// A renewal that succeeds although another owner had the lock meanwhile, on a Redis at 127.0.0.1:6379.
package main

import (
	"fmt"
	"time"

	lock "github.com/bsm/redis-lock"
	"github.com/go-redis/redis"
)

func main() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	first := lock.NewLock(client, "example", &lock.LockOptions{LockTimeout: time.Second})
	second := lock.NewLock(client, "example", &lock.LockOptions{LockTimeout: time.Second})
	fmt.Println(first.Lock())
	time.Sleep(1100 * time.Millisecond) // its lease ends
	fmt.Println(second.Lock())
	fmt.Println(second.Unlock())
	fmt.Println(first.Lock()) // true <nil>, as if it had renewed
}
