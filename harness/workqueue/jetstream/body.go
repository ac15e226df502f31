package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

const (
	stallTime = 30 * time.Second // an attempt ends if no part of a body has arrived for this long
	bodyTime  = time.Hour        // longest time of one attempt to move a body, even if it makes progress

	mostUnit = workqueue.MostBytes/3*4 + 1<<20 // size limit in bytes of a stored unit, whose body is in base64
	window   = 8                               // number of pieces of a body, each 128 KiB, that are requested at a time
)

// tryBody does what the method try does, for attempts that send or read a body. Such an attempt ends after bodyTime, or
// when it makes no progress for a while. The attempt's function reports progress by calling the function that it gets.
func (q *Queue) tryBody(ctx context.Context, what string, do func(_ context.Context, moved func()) error) error {
	return q.retry(ctx, what, stallTime, func(ctx context.Context, allowed time.Duration) error {
		one, cancel := context.WithTimeout(ctx, bodyTime)
		defer cancel()
		stall := time.AfterFunc(allowed, cancel)
		defer stall.Stop()
		err := do(one, func() { stall.Reset(allowed) })
		if err != nil && one.Err() != nil && ctx.Err() == nil {
			return context.DeadlineExceeded
		}
		return err
	})
}

// putBody stores a body under a name, replacing what is there.
func (q *Queue) putBody(ctx context.Context, name string, body []byte, moved func()) error {
	_, err := q.objects.Put(ctx, jetstream.ObjectMeta{Name: name}, progressReader{bytes.NewReader(body), moved})
	return err
}

// progressReader calls moved on each read.
type progressReader struct {
	io.Reader
	moved func()
}

func (t progressReader) Read(p []byte) (int, error) {
	t.moved()
	return t.Reader.Read(p)
}

// getBody returns a body of at most the given number of bytes. It requests only a few pieces at a time, since answers
// to other requests, such as the renewal of a lease, wait behind all pieces that were requested.
func (q *Queue) getBody(ctx context.Context, name string, most int, moved func()) (body []byte, err error) {
	info, err := q.objects.GetInfo(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.Size > uint64(most) {
		return nil, fmt.Errorf("jetstream: %s has %d bytes, more than the limit of %d", name, info.Size, most)
	}
	moved()
	pieces, err := q.js.CreateConsumer(ctx, q.objectStream(), jetstream.ConsumerConfig{
		FilterSubject: q.chunkSubject(info.NUID), AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: time.Minute,
		MemoryStorage: true, Replicas: 1,
	})
	if err != nil {
		return nil, err
	}
	defer func() { // if that fails the consumer disappears after a minute
		one, cancel := context.WithTimeout(ctx, pause)
		defer cancel()
		_ = q.js.DeleteConsumer(one, q.objectStream(), pieces.CachedInfo().Name)
	}()
	body = make([]byte, 0, info.Size)
	for missing := int(info.Chunks); missing > 0; {
		batch, err := pieces.Fetch(min(missing, window), jetstream.FetchContext(ctx))
		if err != nil {
			return nil, err
		}
		for m := range batch.Messages() {
			body = append(body, m.Data()...)
			missing--
			moved()
		}
		if err := errors.Join(batch.Error(), ctx.Err()); err != nil {
			return nil, err
		}
		if uint64(len(body)) > info.Size { // do not trust the size that its writer gave
			return nil, fmt.Errorf("jetstream: %s is larger than the %d bytes that its header gives", name, info.Size)
		}
	}
	sum := sha256.New()
	sum.Write(body)
	if jetstream.GetObjectDigestValue(sum) != info.Digest {
		return nil, notYet{"the body of " + name + " did not come whole"}
	}
	return body, nil
}

// removeBody removes a body. If that fails, the body stays until the end of the coordination.
func (q *Queue) removeBody(ctx context.Context, name string) {
	one, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	_ = q.objects.Delete(one, name) // if that fails, it is removed with the coordination
}
