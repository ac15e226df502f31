//go:build ignore

// A lock on dapr's state store for Redis: Set with first-write and a TTL, Get for the ETag, Delete by that ETag.
package main

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dapr/components-contrib/metadata"
	"github.com/dapr/components-contrib/state"
	"github.com/dapr/components-contrib/state/redis"
	"github.com/dapr/kit/logger"
)

type lock struct {
	store state.Store
	etags map[string]string
}

func (l *lock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	delete(l.etags, key+owner) // of an earlier schedule
	seconds := strconv.Itoa(int((ttl + time.Second - 1) / time.Second))
	err := l.store.Set(ctx, &state.SetRequest{Key: key, Value: owner, Metadata: map[string]string{"ttlInSeconds": seconds},
		Options: state.SetStateOption{Concurrency: state.FirstWrite}})
	if err != nil {
		return refused(err)
	}
	got, err := l.store.Get(ctx, &state.GetRequest{Key: key})
	if err != nil || got.ETag == nil || string(got.Data) != strconv.Quote(owner) {
		return false, err // its lease has ended
	}
	l.etags[key+owner] = *got.ETag
	return true, nil
}

func (l *lock) Release(ctx context.Context, key, owner string) (bool, error) {
	etag, held := l.etags[key+owner]
	if !held {
		return false, nil
	}
	err := l.store.Delete(ctx, &state.DeleteRequest{Key: key, ETag: &etag,
		Options: state.DeleteStateOption{Concurrency: state.FirstWrite}})
	if err != nil {
		return refused(err)
	}
	return true, nil
}

// refused returns false without an error if a script of the store has refused. It returns every other error as it is.
func refused(err error) (bool, error) {
	var etag *state.ETagError
	if text := err.Error(); errors.As(err, &etag) && strings.Contains(text, "failed to") ||
		strings.Contains(text, "failed to set key") && strings.Contains(text, "script") {
		return false, nil
	}
	return false, err
}

func main() {
	Serve(Says{Symmetric: true}, func(urls []string) (*lock, error) {
		u, err := url.Parse(urls[0])
		if err != nil {
			return nil, err
		}
		log := logger.NewLogger("state")
		log.SetOutput(io.Discard)
		store := redis.NewRedisStateStore(log)
		err = store.Init(context.Background(), state.Metadata{Base: metadata.Base{Properties: map[string]string{
			"redisHost": u.Host, "redisMaxRetries": "-1", "redisPassword": ""}}})
		return &lock{store, map[string]string{}}, err
	})
}
