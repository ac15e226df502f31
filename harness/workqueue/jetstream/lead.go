package jetstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// Sizes bounds a coordination. Zero means the default.
type Sizes struct {
	Lease      time.Duration // how long a worker may say nothing; default workqueue.DefaultLease
	MostStored int64         // size limit of the object store, in bytes; default: the server's limit
}

// Lead begins the coordination called name, or takes over one whose coordinator has ended or was killed. The parameter
// as is the name of this coordinator, and head describes the work. Lead returns the head with which the coordination
// was begun, including its Seed.
//
// The error wraps ErrTaken if another coordinator of that name answers, and ErrOther if the name belongs to other work
// than head's. Two coordinators that begin at the same moment do the same work, which counts once.
func Lead(ctx context.Context, a Access, name, as string, head Head, sizes Sizes) (*Queue, Head, error) {
	q, err := open(ctx, a, name, as)
	if err != nil {
		return nil, Head{}, err
	}
	head.Format, head.ID, head.Lease = Format, nuid.Next(), sizes.Lease
	if head.Task == nil {
		head.Task = json.RawMessage("null") // as it is when read back
	}
	if head.Lease <= 0 {
		head.Lease = workqueue.DefaultLease
	}
	replicas := 1
	if q.nc.ConnectedClusterName() != "" {
		replicas = 3
	}
	// another coordinator may just be removing its coordination
	for err = workqueue.ErrOver; errors.Is(err, workqueue.ErrOver); {
		err = q.lead(ctx, head, replicas, sizes)
	}
	if err != nil {
		q.Close()
		return nil, Head{}, err
	}
	return q, q.head, nil
}

// lead makes this process the coordinator. The error wraps workqueue.ErrOver if another coordination had the name and
// was removed just now. In that case lead can be called again.
func (q *Queue) lead(ctx context.Context, head Head, replicas int, sizes Sizes) error {
	q.opened, q.over = false, false
	wasThere, err := q.openKeys(ctx, replicas)
	if err != nil {
		return err
	}
	q.opened = true
	if wasThere {
		err = q.takeOver(ctx, head)
	} else {
		err = q.agree(ctx, head)
	}
	if err != nil {
		return err
	}
	if err := q.begin(ctx, replicas, sizes); err != nil {
		return err
	}
	q.leads = true
	q.follow(ctx)
	return q.answerAs(coordinator)
}

// takeOver goes on with the coordination that has the name. The error wraps ErrTaken if its coordinator answers. If it
// is over and not needed, or should be started over, takeOver removes it, and the error wraps workqueue.ErrOver.
func (q *Queue) takeOver(ctx context.Context, head Head) error {
	name := ""
	err := q.try(ctx, "begin "+q.name, attemptTime, func(ctx context.Context) (err error) {
		name, err = q.findMember(ctx, coordinator, answerWithin, anybody)
		return err
	})
	if err != nil {
		return err
	}
	if name != "" {
		return fmt.Errorf("%w: %s, by %s: wait for its end, or choose another --name", ErrTaken, q.name, name)
	}
	if q.over, err = q.askOver(ctx); err != nil {
		return err
	}
	results := ""
	if err = q.agree(ctx, head); err == nil {
		results, err = q.Results(ctx)
	}
	if errors.Is(err, ErrOther) && q.over || err == nil && (head.StartOver || q.over && results == "") {
		return cmp.Or(q.remove(ctx), workqueue.ErrOver)
	}
	return err
}

// IsOver reports whether the coordination had ended before this coordinator took it over. In that case only its results
// remain.
func (q *Queue) IsOver() bool { return q.over }

// KeepResults stores where the results are, for a coordinator that takes over if this one is killed.
func (q *Queue) KeepResults(ctx context.Context, dir string) error {
	return q.try(ctx, "keep where the results are", attemptTime, func(ctx context.Context) error {
		if err := q.checkOurs(ctx); err != nil {
			return err
		}
		_, err := q.keys.Put(ctx, keyResults, encoded(dir))
		return err
	})
}

// Results returns where the results are. It is empty if there are none yet.
func (q *Queue) Results(ctx context.Context) (dir string, err error) {
	err = q.try(ctx, "ask where the results are", attemptTime, func(ctx context.Context) error {
		_, err := q.read(ctx, keyResults, &dir)
		return err
	})
	return dir, err
}

// mark is set on everything that doublegrant creates in a NATS. What has the same name and lacks the mark is left
// alone.
var mark = map[string]string{"doublegrant": "coordination"}

// notOurs returns an error that wraps ErrOther if the stream exists and was created by something else.
func (q *Queue) notOurs(ctx context.Context, stream string) error {
	s, err := q.js.Stream(ctx, stream)
	switch {
	case isGone(err):
		return nil
	case err != nil:
		return err
	case s.CachedInfo().Config.Metadata["doublegrant"] != mark["doublegrant"]:
		return fmt.Errorf("%w: the stream %s on this NATS server belongs to another program or an older "+
			"doublegrant: choose another --name", ErrOther, stream)
	}
	return nil
}

// openKeys opens the coordination's key bucket, and creates it if necessary. In this bucket reads go to the leader of
// its replicas. In a bucket that NATS creates by default they may go to a replica that lags.
func (q *Queue) openKeys(ctx context.Context, replicas int) (wasThere bool, err error) {
	err = q.try(ctx, "begin "+q.name, attemptTime, func(ctx context.Context) (err error) {
		if err := q.notOurs(ctx, q.keyStream()); err != nil {
			return err
		}
		wasThere = true
		if q.keys, err = q.js.KeyValue(ctx, q.bucket()); errors.Is(err, jetstream.ErrBucketNotFound) {
			wasThere = false
			if _, err = q.js.CreateStream(ctx, jetstream.StreamConfig{
				Name: q.keyStream(), Subjects: []string{q.keySubject(">")}, Replicas: replicas, MaxMsgsPerSubject: 1,
				MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1,
				Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true, AllowDirect: false, Metadata: mark,
			}); err == nil {
				q.keys, err = q.js.KeyValue(ctx, q.bucket())
			}
		}
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return notYet{"another coordinator is just making it"}
		}
		return err
	})
	return wasThere, err
}

// begin creates the other streams and stores of the coordination, if necessary.
func (q *Queue) begin(ctx context.Context, replicas int, sizes Sizes) error {
	return q.try(ctx, "begin "+q.name, attemptTime, func(ctx context.Context) (err error) {
		if err := cmp.Or(q.notOurs(ctx, q.objectStream()), q.notOurs(ctx, q.stream())); err != nil {
			return err
		}
		if q.objects, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: q.bucket(), Replicas: replicas, MaxBytes: sizes.MostStored, Metadata: mark,
		}); err != nil {
			return err
		}
		if _, err = q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: q.stream(), Subjects: []string{q.subject() + "*"}, Retention: jetstream.WorkQueuePolicy,
			Replicas: replicas, Metadata: mark,
			// a unit is there once, however often it is put
			Discard: jetstream.DiscardNew, MaxMsgsPerSubject: 1, DiscardNewPerSubject: true,
		}); err != nil {
			return err
		}
		q.consumer, err = q.js.CreateOrUpdateConsumer(ctx, q.stream(), jetstream.ConsumerConfig{
			Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.head.Lease,
			MaxDeliver: -1, MaxAckPending: 10_000,
		})
		return err
	})
}

// isConflict reports whether a key was not written because it has changed.
func isConflict(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return errors.Is(err, jetstream.ErrKeyExists) || ok &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
			api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// agree writes the head of a new coordination. If the coordination has a head already, agree reads that. It returns an
// error that wraps ErrOther if that head describes other work.
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
			return retryIfGone(err, "its first record is missing so far")
		}
		var was Head
		if err := json.Unmarshal(e.Value(), &was); err != nil {
			return fmt.Errorf("%w: %s: choose another --name", ErrOther, q.name)
		}
		if why := was.differs(head); why != "" {
			return fmt.Errorf("%w: %s: %s: continue with the same, or choose another --name", ErrOther, q.name, why)
		}
		q.head = was
		return nil
	})
}

// differs compares the head h of a coordination to be continued with this coordinator's head, the parameter now. It
// returns how they differ, or "" if they describe the same work.
func (h Head) differs(now Head) string {
	switch {
	case h.Format != now.Format || h.Program != now.Program:
		return fmt.Sprintf("doublegrant %s began it, and this is %s", h.Program, now.Program)
	case h.Kind != now.Kind:
		return fmt.Sprintf("it is of kind %s, and this is %s", h.Kind, now.Kind)
	case h.Server != now.Server:
		return fmt.Sprintf("it was begun on %s, and this is %s", h.Server, now.Server)
	case !bytes.Equal(h.Task, now.Task):
		return "its files or flags differ"
	}
	return ""
}

func encoded(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("jetstream: what is no JSON: " + err.Error()) // all of it consists of texts and numbers
	}
	return b
}

// leaveWithin is how long workers have to notice the end before everything is removed.
const leaveWithin = 5 * time.Second

// End implements workqueue.Queue. If End is interrupted, the name can still be used: the next coordinator of that name
// removes what is left.
func (q *Queue) End(ctx context.Context) error {
	err := q.try(ctx, "end "+q.name, attemptTime, func(ctx context.Context) error {
		if err := q.checkOurs(ctx); err != nil {
			return err
		}
		_, err := q.keys.PutString(ctx, keyOver, "over")
		return err
	})
	if err != nil {
		return err
	}
	_ = q.nc.Publish(q.overSubject(), nil) // a worker that misses it asks
	for end := time.Now().Add(leaveWithin); time.Now().Before(end); {
		if has, err := q.HasOtherWorker(ctx, anybody); err != nil || !has {
			break
		}
		rest(ctx)
	}
	return q.remove(ctx)
}

// checkOurs returns an error unless this process leads the coordination that has the name now.
func (q *Queue) checkOurs(ctx context.Context) error {
	if !q.leads {
		return fmt.Errorf("jetstream: %s does not coordinate %s", q.as, q.name)
	}
	e, err := q.keys.Get(ctx, keyHead)
	if err != nil {
		return err
	}
	var now Head
	if err := json.Unmarshal(e.Value(), &now); err != nil || now.ID != q.head.ID {
		return fmt.Errorf("%w: %s has ended and was begun again: the coordinator that ended it has its results",
			ErrTaken, q.name)
	}
	return nil
}

// remove removes everything that the coordination keeps in NATS. The keys go last: as long as they exist, others see
// that the coordination is over.
func (q *Queue) remove(ctx context.Context) error {
	err := q.try(ctx, "remove "+q.name, attemptTime, func(ctx context.Context) error {
		for _, step := range []struct {
			remove func(context.Context, string) error
			name   string
		}{{q.js.DeleteStream, q.stream()}, {q.js.DeleteObjectStore, q.bucket()}, {q.js.DeleteKeyValue, q.bucket()}} {
			if err := step.remove(ctx, step.name); err != nil && !isGone(err) {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, workqueue.ErrOver) { // an earlier attempt removed it, and its answer was lost
		return nil
	}
	return err
}

// askOver asks NATS whether the coordination has ended or was removed.
func (q *Queue) askOver(ctx context.Context) (over bool, err error) {
	err = q.try(ctx, "ask whether "+q.name+" is over", attemptTime, func(ctx context.Context) error {
		_, err := q.keys.Get(ctx, keyOver)
		if over = err == nil; errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		return err
	})
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return true, nil
	}
	return over, err
}
