//go:build ignore

// Two owners of one lock, on a Redis at 127.0.0.1:6379.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

func main() {
	ctx := context.Background()
	client := redislock.New(redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}))
	_, err := client.Obtain(ctx, "example", time.Minute, &redislock.Options{Token: "client-12"})
	fmt.Println("client-12:", err) // <nil>
	_, err = client.Obtain(ctx, "example", time.Minute, &redislock.Options{Token: "client-1"})
	fmt.Println("client-1: ", err) // <nil>, and should be redislock.ErrNotObtained
}
