//go:build ignore

// A stale ETag that deletes the entry of another, on a Redis at 127.0.0.1:6379.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/dapr/components-contrib/metadata"
	"github.com/dapr/components-contrib/state"
	"github.com/dapr/components-contrib/state/redis"
	"github.com/dapr/kit/logger"
)

func main() {
	ctx, store := context.Background(), redis.NewRedisStateStore(logger.NewLogger("example"))
	fmt.Println(store.Init(ctx, state.Metadata{Base: metadata.Base{Properties: map[string]string{
		"redisHost": "127.0.0.1:6379", "redisPassword": ""}}}))
	set := func(value string) {
		fmt.Println("set", value, store.Set(ctx, &state.SetRequest{Key: "example", Value: value,
			Metadata: map[string]string{"ttlInSeconds": "1"},
			Options:  state.SetStateOption{Concurrency: state.FirstWrite}}))
	}
	set("first")
	got, err := store.Get(ctx, &state.GetRequest{Key: "example"})
	if err != nil || got.ETag == nil {
		fmt.Println("get", err)
		return
	}
	time.Sleep(1200 * time.Millisecond) // the first entry ends
	set("second")
	fmt.Println("delete", store.Delete(ctx, &state.DeleteRequest{Key: "example", ETag: got.ETag,
		Options: state.DeleteStateOption{Concurrency: state.FirstWrite}})) // <nil>, and should be an ETagError
}
