//go:build ignore

// A message filter that is one SetNX of go-redis, on a connection of its own and with a short timeout.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

type filter struct {
	client *redis.Client
	conn   *redis.Conn // nil: the connection broke
}

func (f *filter) Claim(ctx context.Context, key string, window time.Duration) (bool, error) {
	if f.conn == nil {
		f.conn = f.client.Conn()
	}
	first, err := f.conn.SetNX(ctx, key, 1, window).Result()
	var reply redis.Error
	if err != nil && !errors.As(err, &reply) { // after an error of Redis the connection goes on
		f.conn.Close()
		f.conn = nil
	}
	return first, err
}

func main() {
	Serve(Says{Symmetric: true}, func(urls []string) (*filter, error) {
		o, err := redis.ParseURL(urls[0])
		if err != nil {
			return nil, err
		}
		o.MaxRetries, o.ReadTimeout = -1, 200*time.Millisecond
		return &filter{client: redis.NewClient(o)}, nil
	})
}
