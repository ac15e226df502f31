package coordinate

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"time"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// OfferShares offers n shares of a run's clients to as many workers, until ctx ends. A share that fails, or ends before
// the run, is offered again. version is that of this program. The error says that the first shares could not be put
// into the queue.
func OfferShares(ctx context.Context, q workqueue.Queue, version string, n int) error {
	s := &shares{queue: q, version: version, run: rand.Text()}
	for range n {
		id, err := s.put(ctx)
		if err != nil {
			return err
		}
		go s.offer(ctx, id)
	}
	return nil
}

// shares holds the shares of one run.
type shares struct {
	queue        workqueue.Queue
	version, run string
	number       atomic.Int64 // of the last
}

func (s *shares) put(ctx context.Context) (id string, err error) {
	u, err := newUnit(KindShare, s.version, "", shareUnit{s.run, int(s.number.Add(1))})
	if err != nil {
		return "", err
	}
	return u.ID(), s.queue.Put(ctx, u)
}

// offer puts a new share into the queue whenever the last one has ended, until ctx ends or the queue can no longer be
// used.
func (s *shares) offer(ctx context.Context, id string) {
	for {
		if _, err := s.queue.Await(ctx, id); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(workqueue.RetryAfter):
		}
		var err error
		if id, err = s.put(ctx); err != nil {
			return
		}
	}
}
