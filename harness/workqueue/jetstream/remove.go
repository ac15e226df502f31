package jetstream

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Remove removes all that the coordination keeps in NATS. Workers have the time left to hear of its end first.
func (q *Queue) Remove(ctx context.Context, left time.Duration) error {
	for end := time.Now().Add(left); q.hasWorkers(ctx) && time.Now().Before(end); {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return q.try(ctx, "remove "+q.name, attemptTime, func(ctx context.Context) error {
		for _, step := range q.removal() {
			if err := step(ctx); err != nil {
				if q.isRemoved(ctx) { // an answer was lost
					return nil
				}
				return err
			}
		}
		return nil
	})
}

// removal lists the steps of a removal. Whoever is killed between two of them leaves a name that can be used: without the keys it begins anew,
// and what else is there is removed then. This process coordinates until the last step, so that nobody begins anew while it removes.
func (q *Queue) removal() []func(context.Context) error {
	return []func(context.Context) error{
		q.forget,
		func(ctx context.Context) error { return q.removeOne(ctx, q.js.DeleteStream, q.stream()) },
		func(ctx context.Context) error { return q.removeOne(ctx, q.js.DeleteObjectStore, q.bucket()) },
		q.removeKeys,
	}
}

// forget removes all keys but the coordinator's. It is a beat as well, so that it happens only if this process coordinates.
func (q *Queue) forget(ctx context.Context) error {
	if err := q.leadStill(ctx); err != nil {
		return err
	}
	b := &q.beats
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last.N++
	ack, err := q.js.PublishMsg(ctx, &nats.Msg{
		Subject: q.keySubject(keyCoordinator), Data: encoded(b.last), Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupAll}},
	}, jetstream.WithExpectLastSequencePerSubject(b.revision))
	if err != nil {
		return err
	}
	b.revision = ack.Sequence
	return nil
}

// removeOne removes something if this process coordinates.
func (q *Queue) removeOne(ctx context.Context, remove func(context.Context, string) error, name string) error {
	if err := q.leadStill(ctx); err != nil {
		return err
	}
	if err := remove(ctx, name); !isGone(err) {
		return err
	}
	return nil
}

// removeKeys removes the coordinator's key, the last, and the bucket. The name is free then, so that no beat may follow.
func (q *Queue) removeKeys(ctx context.Context) error {
	if err := q.leadStill(ctx); err != nil {
		return err
	}
	q.beats.mu.Lock()
	defer q.beats.mu.Unlock()
	err := q.js.DeleteKeyValue(ctx, q.bucket())
	q.beats.gone = err == nil || isGone(err)
	return err
}
