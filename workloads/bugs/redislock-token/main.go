//go:build ignore

// A lock of bsm/redislock with its caller's tokens, Options.Token.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

type lock struct {
	client *redislock.Client
	held   map[string]*redislock.Lock
}

func (l *lock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	delete(l.held, key+owner) // of an earlier schedule
	h, err := l.client.Obtain(ctx, key, ttl, &redislock.Options{Token: owner})
	if err == nil {
		l.held[key+owner] = h
	}
	return answer(err)
}

func (l *lock) Release(ctx context.Context, key, owner string) (bool, error) {
	return answer(l.held[key+owner].Release(ctx)) // a nil lock answers that it is not held
}

// answer returns false without an error for a refusal of the library, and every other error as it is.
func answer(err error) (bool, error) {
	if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrLockNotHeld) {
		return false, nil
	}
	return err == nil, err
}

func main() {
	Serve(Says{}, func(urls []string) (*lock, error) {
		o, err := redis.ParseURL(urls[0])
		if err != nil {
			return nil, err
		}
		return &lock{redislock.New(redis.NewClient(o)), map[string]*redislock.Lock{}}, nil
	})
}
