//go:build ignore

// A lock of go-redsync/redsync. The arguments are options: set-nx-on-extend for WithSetNXOnExtend, and retries for
// go-redis's default retries.
package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type lock struct {
	redsync *redsync.Redsync
	options []redsync.Option
	held    map[string]*redsync.Mutex
}

func (l *lock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	delete(l.held, key+owner) // of an earlier schedule
	m := l.redsync.NewMutex(key, append(l.options, redsync.WithExpiry(ttl))...)
	ok, err := answer(true, m.TryLockContext(ctx))
	if ok {
		l.held[key+owner] = m
	}
	return ok, err
}

func (l *lock) Extend(ctx context.Context, key, owner string, _ time.Duration) (bool, error) {
	if m := l.held[key+owner]; m != nil {
		return answer(m.ExtendContext(ctx))
	}
	return false, nil
}

func (l *lock) Release(ctx context.Context, key, owner string) (bool, error) {
	if m := l.held[key+owner]; m != nil {
		return answer(m.UnlockContext(ctx))
	}
	return false, nil
}

// answer returns false without an error for a refusal of the library, and every other error as it is.
func answer(ok bool, err error) (bool, error) {
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired) || errors.Is(err, redsync.ErrExtendFailed) {
		return false, nil
	}
	return ok && err == nil, err
}

func main() {
	Serve(Says{Symmetric: true}, func(urls []string) (*lock, error) {
		o, err := redis.ParseURL(urls[0])
		if err != nil {
			return nil, err
		}
		if !slices.Contains(os.Args, "retries") {
			o.MaxRetries = -1
		}
		l := &lock{redsync: redsync.New(goredis.NewPool(redis.NewClient(o))), held: map[string]*redsync.Mutex{}}
		if slices.Contains(os.Args, "set-nx-on-extend") {
			l.options = []redsync.Option{redsync.WithSetNXOnExtend()}
		}
		return l, nil
	})
}
