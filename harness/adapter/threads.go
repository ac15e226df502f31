package adapter

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/doublegrant/doublegrant/harness"
)

// This file lets a program have threads beside its operations, such as a watchdog that renews a lease. Each thread is
// a goroutine of harness.Go here. So in a search the schedule decides when a thread goes on, and one thread of a client
// runs at a time.

// threads holds the threads that a process has started and that have not ended, by id. The zero value has none.
type threads struct {
	mu  sync.Mutex
	all map[int]thread
}

type thread struct {
	stop context.CancelFunc // ends the thread's sleep at once, and all its later sleeps
	join func()             // waits until the thread has ended
}

// start makes a thread and returns its id. The thread runs as soon as the operation that asked for it waits or is over.
// It never runs if the client has crashed, or is the harness's own client.
func (c *process) start(ctx context.Context) (id int) {
	c.mu.Lock()
	c.asked++
	id = c.asked
	c.mu.Unlock()
	t := &c.threads
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[int]thread{}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	join := harness.Go(ctx, func(ctx context.Context) {
		defer c.threads.end(id)
		c.runThread(ctx, id)
	})
	t.all[id] = thread{stop, join}
	return id
}

// runThread tells a thread to run, and answers its questions until it has ended. If the process breaks down meanwhile,
// a search ends; under load the process is replaced at its next operation.
func (c *process) runThread(ctx context.Context, id int) {
	_, err := c.ask(ctx, request{ID: id, Do: doRun}, 0)
	if err != nil && !errors.Is(err, errKilled) && ctx.Value(searched{}) != nil {
		harness.Abandon(ctx, broken(err))
	}
}

// searched is a context key. A context that has it belongs to a search, not to a load.
type searched struct{}

func (t *threads) end(id int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one, ok := t.all[id]; ok {
		one.stop()
		delete(t.all, id)
	}
}

// ofThread does what the question q asks for: it stops a thread or waits for the thread's end. It returns an error if
// the process has never started that thread.
func (c *process) ofThread(q answer) error {
	c.mu.Lock()
	known := q.Thread > 0 && q.Thread <= c.asked
	c.mu.Unlock()
	c.threads.mu.Lock()
	t, ok := c.threads.all[q.Thread]
	c.threads.mu.Unlock()
	switch {
	case !known:
		return fmt.Errorf("it asked to %s thread %d, which it has not started: %s", q.Ask, q.Thread, page)
	case !ok: // it has ended
	case q.Ask == askStop:
		t.stop()
	default:
		t.join()
	}
	return nil
}
