//go:build ignore

// A message filter that is asynq's Unique with a TaskID. The tasks of all messages have the same id, so only one of
// them can be pending at a time.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

type filter struct{ client *asynq.Client }

func (f filter) Claim(ctx context.Context, key string, window time.Duration) (bool, error) {
	_, err := f.client.EnqueueContext(ctx, asynq.NewTask("push", []byte(key)), asynq.TaskID("today"), asynq.Unique(window))
	switch {
	case errors.Is(err, asynq.ErrTaskIDConflict):
		return false, fmt.Errorf("%w: %w", ErrNothingDone, err)
	case errors.Is(err, asynq.ErrDuplicateTask):
		return false, nil
	}
	return err == nil, err
}

func main() {
	Serve(Says{Symmetric: true, Fresh: true}, func(urls []string) (filter, error) {
		o, err := redis.ParseURL(urls[0])
		if err != nil {
			return filter{}, err
		}
		o.MaxRetries = -1
		return filter{asynq.NewClientFromRedisClient(redis.NewClient(o))}, nil
	})
}
