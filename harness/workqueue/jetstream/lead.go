package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// Sizes bounds a coordination. Zero values mean the defaults named beside them.
type Sizes struct {
	Lease      time.Duration // how long a worker may say nothing; default workqueue.DefaultLease
	MostStored int64         // bytes that the object store may have; default: no bound but the server's own
}

// Lead begins a coordination, or goes on with one whose coordinator has ended or was killed. Only one coordinator of a name is at work: the
// error wraps ErrTaken if another is, and ErrOther if what was begun under the name differs from head. It returns the head that was begun
// with: its Seed is that of then.
func Lead(ctx context.Context, a Access, name, as string, head Head, sizes Sizes) (*Queue, Head, error) {
	q, err := open(ctx, a, name, as)
	if err != nil {
		return nil, Head{}, err
	}
	head.Format, head.Lease = Format, sizes.Lease
	if head.Task == nil {
		head.Task = json.RawMessage("null") // as it is read again
	}
	if head.Lease <= 0 {
		head.Lease = workqueue.DefaultLease
	}
	replicas := 1
	if q.nc.ConnectedClusterName() != "" {
		replicas = 3
	}
	for err = workqueue.ErrOver; errors.Is(err, workqueue.ErrOver); { // another may just remove what it had under this name
		q.opened = false
		if err = q.openKeys(ctx, replicas); err == nil {
			q.opened = true
			err = q.agree(ctx, head)
		}
		if err == nil {
			err = q.takeLead(ctx)
		}
	}
	if err == nil { // from here on it is ours to change
		err = q.begin(ctx, replicas, sizes)
	}
	if err != nil {
		return nil, Head{}, errors.Join(err, q.Close(ctx))
	}
	return q, q.head, nil
}

// openKeys opens the coordination's keys, which it makes unless they are there. They differ from those that NATS makes by itself in one thing:
// whoever reads a key asks the leader of their replicas, and none that lags.
func (q *Queue) openKeys(ctx context.Context, replicas int) error {
	return q.try(ctx, "begin "+q.name, attemptTime, func(ctx context.Context) (err error) {
		if q.keys, err = q.js.KeyValue(ctx, q.bucket()); errors.Is(err, jetstream.ErrBucketNotFound) {
			if _, err = q.js.CreateStream(ctx, jetstream.StreamConfig{
				Name: q.keyStream(), Subjects: []string{q.keySubject(">")}, Replicas: replicas, MaxMsgsPerSubject: 1,
				MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1,
				Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true, AllowDirect: false,
			}); err == nil {
				q.keys, err = q.js.KeyValue(ctx, q.bucket())
			}
		}
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return notYet{"another makes it just now"}
		}
		return err
	})
}

// begin makes what else the coordination keeps in NATS, unless it is there.
func (q *Queue) begin(ctx context.Context, replicas int, sizes Sizes) error {
	return q.try(ctx, "begin "+q.name, attemptTime, func(ctx context.Context) (err error) {
		if err = q.clear(ctx); err != nil {
			return err
		}
		if q.objects, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: q.bucket(), Replicas: replicas, MaxBytes: sizes.MostStored}); err != nil {
			return err
		}
		if _, err = q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: q.stream(), Subjects: []string{q.subject() + "*"}, Retention: jetstream.WorkQueuePolicy, Replicas: replicas,
			Discard: jetstream.DiscardNew, MaxMsgsPerSubject: 1, DiscardNewPerSubject: true, // a unit is there once, however often it is put
		}); err != nil {
			return err
		}
		q.consumer, err = q.js.CreateOrUpdateConsumer(ctx, q.stream(), jetstream.ConsumerConfig{
			Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.head.Lease, MaxDeliver: -1, MaxAckPending: 10_000,
		})
		if err == nil {
			_, err = q.keys.PutString(ctx, keyBegun, "begun")
		}
		return err
	})
}

// clear removes what an earlier coordination of this name left: the end of one that is wanted again, and the units of one whose removal, or
// whose beginning, was cut short.
func (q *Queue) clear(ctx context.Context) error {
	if _, err := q.keys.Get(ctx, keyOver); err == nil {
		if err := q.keys.Delete(ctx, keyOver); err != nil {
			return err
		}
	} else if !isGone(err) {
		return err
	}
	if _, err := q.keys.Get(ctx, keyBegun); err == nil || !isGone(err) {
		return err
	}
	for _, err := range []error{q.js.DeleteStream(ctx, q.stream()), q.js.DeleteObjectStore(ctx, q.bucket())} {
		if err != nil && !isGone(err) {
			return err
		}
	}
	return nil
}

// isConflict reports whether a key was not written because it has changed.
func isConflict(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) ||
		errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// agree writes the head, or reads the one that was begun with.
func (q *Queue) agree(ctx context.Context, head Head) error {
	return q.try(ctx, "begin "+q.name, attemptTime, func(ctx context.Context) error {
		_, err := q.keys.Create(ctx, keyHead, encoded(head))
		if err == nil {
			q.head = head
			return nil
		}
		if !isConflict(err) {
			return err
		}
		e, err := q.keys.Get(ctx, keyHead)
		if err != nil {
			return waiting(err, "its head is not there yet")
		}
		var was Head
		if err := json.Unmarshal(e.Value(), &was); err != nil {
			return fmt.Errorf("%w: %s: choose another --name", ErrOther, q.name)
		}
		if why := was.differs(head); why != "" {
			return fmt.Errorf("%w: %s: %s: go on with the same, or choose another --name", ErrOther, q.name, why)
		}
		q.head = was
		return nil
	})
}

// differs says in what a coordination that goes on is another than the one that was begun.
func (h Head) differs(now Head) string {
	switch {
	case h.Format != now.Format || h.Program != now.Program:
		return fmt.Sprintf("it was begun by doublegrant %s, and this is %s", h.Program, now.Program)
	case h.Kind != now.Kind:
		return fmt.Sprintf("it is of kind %s, and this is %s", h.Kind, now.Kind)
	case h.Server != now.Server:
		return fmt.Sprintf("it was begun on %s, and here is %s", h.Server, now.Server)
	case !bytes.Equal(h.Task, now.Task):
		return "it has other work, in files or flags"
	}
	return ""
}

func encoded(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("jetstream: what is no JSON: " + err.Error()) // all of it is made of texts and numbers
	}
	return b
}

// End is workqueue.Queue's.
func (q *Queue) End(ctx context.Context) error {
	return q.try(ctx, "end "+q.name, attemptTime, func(ctx context.Context) error {
		if err := q.leadStill(ctx); err != nil {
			return err
		}
		_, err := q.keys.PutString(ctx, keyOver, "over")
		return err
	})
}

// isOver reports whether the coordination has ended. One that is gone has.
func (q *Queue) isOver(ctx context.Context) (over bool, err error) {
	err = q.try(ctx, "ask whether "+q.name+" is over", attemptTime, func(ctx context.Context) error {
		_, err := q.keys.Get(ctx, keyOver)
		if err == nil {
			over = true
			return nil
		}
		if !errors.Is(err, jetstream.ErrKeyNotFound) {
			return err
		}
		return nil
	})
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return true, nil
	}
	return over, err
}

// hasWorkers reports whether a worker has joined and not left.
func (q *Queue) hasWorkers(ctx context.Context) bool {
	names, err := q.Workers(ctx)
	return err == nil && len(names) > 0
}

// Workers lists the workers that have joined and not left. One that was killed stays in the list.
func (q *Queue) Workers(ctx context.Context) (names []string, err error) {
	err = q.try(ctx, "list workers", attemptTime, func(ctx context.Context) error {
		names = nil
		list, err := q.keys.ListKeysFiltered(ctx, keyWorker+"*")
		if err != nil {
			return err
		}
		for key := range list.Keys() {
			names = append(names, key[len(keyWorker):])
		}
		return ctx.Err()
	})
	return names, err
}
