//go:build ignore

// A message filter that is asynq's Unique: a task for each message. With the argument task-id the tasks of all messages
// have the same id, so only one of them can be pending at a time.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

type filter struct{ client *asynq.Client }

func (f filter) Claim(ctx context.Context, key string, window time.Duration) (bool, error) {
	options := []asynq.Option{asynq.Unique(window)}
	if slices.Contains(os.Args, "task-id") {
		options = append(options, asynq.TaskID("today"))
	}
	_, err := f.client.EnqueueContext(ctx, asynq.NewTask("push", []byte(key)), options...)
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
