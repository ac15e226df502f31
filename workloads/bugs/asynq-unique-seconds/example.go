//go:build ignore

// A task that is accepted twice within its window, on a Redis at 127.0.0.1:6379.
package main

import (
	"fmt"
	"time"

	"github.com/hibiken/asynq"
)

func main() {
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: "127.0.0.1:6379"})
	task := asynq.NewTask("push", []byte("example"))
	_, err := client.Enqueue(task, asynq.Unique(1900*time.Millisecond))
	fmt.Println("first: ", err) // <nil>
	time.Sleep(1200 * time.Millisecond)
	_, err = client.Enqueue(task, asynq.Unique(1900*time.Millisecond))
	fmt.Println("second:", err) // <nil>, and should be asynq.ErrDuplicateTask
}
