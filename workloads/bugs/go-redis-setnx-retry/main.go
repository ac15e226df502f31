//go:build ignore

// A message filter that is one SetNX of go-redis, with its default options.
package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

type filter struct{ redis *redis.Client }

func (f filter) Claim(ctx context.Context, key string, window time.Duration) (bool, error) {
	return f.redis.SetNX(ctx, key, 1, window).Result()
}

func main() {
	Serve(Says{Symmetric: true}, func(urls []string) (filter, error) {
		o, err := redis.ParseURL(urls[0])
		if err != nil {
			return filter{}, err
		}
		return filter{redis.NewClient(o)}, nil
	})
}
