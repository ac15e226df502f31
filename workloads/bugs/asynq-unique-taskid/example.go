//go:build ignore

// A task that is refused as a duplicate, though no such task was ever enqueued, on a Redis at 127.0.0.1:6379.
package main

import (
	"fmt"
	"time"

	"github.com/hibiken/asynq"
)

func main() {
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: "127.0.0.1:6379"})
	_, err := client.Enqueue(asynq.NewTask("report", nil), asynq.TaskID("example"))
	fmt.Println("report:", err) // <nil>
	push := asynq.NewTask("push", []byte("example"))
	_, err = client.Enqueue(push, asynq.TaskID("example"), asynq.Unique(time.Minute))
	fmt.Println("push:  ", err) // asynq.ErrTaskIDConflict: it was not enqueued
	_, err = client.Enqueue(push, asynq.Unique(time.Minute))
	fmt.Println("again: ", err) // asynq.ErrDuplicateTask, and should be <nil>
}
