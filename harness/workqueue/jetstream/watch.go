package jetstream

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// This file shows a coordinator the state of the work: it watches the keys of tries, outcomes and barred workers.

// watched is what the keys have shown so far.
type watched struct {
	begun  map[string]workqueue.OpenUnit // the units that were handed out, by ID
	done   map[string]bool               // IDs of units with an outcome; their later changes are ignored
	barred map[string]string
}

// Watch implements workqueue.Queue.
func (q *Queue) Watch() workqueue.WorkState {
	q.mu.Lock()
	defer q.mu.Unlock()
	return workqueue.WorkState{Done: len(q.seen.done), Withdrawn: maps.Clone(q.seen.barred),
		Begun: slices.SortedFunc(maps.Values(q.seen.begun), workqueue.OpenUnit.Compare)}
}

// follow watches the keys until stop is called. If watching fails, only Watch is out of date: Await also reads the keys
// itself.
func (q *Queue) follow(ctx context.Context) {
	ctx, q.stop = context.WithCancel(context.WithoutCancel(ctx))
	q.seen = watched{map[string]workqueue.OpenUnit{}, map[string]bool{}, map[string]string{}}
	q.watch.Go(func() {
		for ctx.Err() == nil {
			if keys, err := q.keys.WatchFiltered(ctx,
				[]string{keyTries + "*", keyOutcome + "*", keyBarred + "*"}); err == nil {
				q.applyAll(ctx, keys)
			}
			rest(ctx)
		}
	})
}

// applyAll applies changes until the watch ends.
func (q *Queue) applyAll(ctx context.Context, keys jetstream.KeyWatcher) {
	defer func() { _ = keys.Stop() }() // fails only on a closed connection
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-keys.Updates():
			if !open {
				return
			}
			if e != nil { // nil: all existing keys have been sent
				q.apply(e)
			}
		}
	}
}

func (q *Queue) apply(e jetstream.KeyValueEntry) {
	kind, of, _ := strings.Cut(e.Key(), ".")
	q.mu.Lock()
	defer q.mu.Unlock()
	switch kind + "." {
	case keyOutcome:
		delete(q.seen.begun, of)
		q.seen.done[of] = true
		q.wakeLocked()
	case keyBarred:
		var b barred
		if json.Unmarshal(e.Value(), &b) == nil {
			q.seen.barred[b.Worker] = b.Why
		}
	case keyTries:
		var tries []oneTry
		if json.Unmarshal(e.Value(), &tries) != nil || q.seen.done[of] {
			return
		}
		if q.seen.begun[of] = begunOf(of, tries); len(tries) == 0 { // it was given back
			delete(q.seen.begun, of)
		}
	}
}

// begunOf returns the state of a unit whose tries have just changed.
func begunOf(id string, tries []oneTry) workqueue.OpenUnit {
	b := workqueue.OpenUnit{ID: id, Since: time.Now()}
	for i, t := range tries {
		if t.Failed || i < len(tries)-1 {
			b.Failed = append(b.Failed, t.Why)
		} else {
			b.Worker = t.Worker
		}
	}
	return b
}

// barred is the value of a barred worker's key.
type barred struct {
	Worker string `json:"worker"`
	Why    string `json:"why"`
}

// Withdraw implements workqueue.Queue.
func (q *Queue) Withdraw(ctx context.Context, why string) error {
	return q.try(ctx, "leave", attemptTime, func(ctx context.Context) error {
		_, err := q.keys.Put(ctx, keyBarred+token(q.as), encoded(barred{q.as, why}))
		return err
	})
}
