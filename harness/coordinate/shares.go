package coordinate

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"time"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// OfferShares puts n shares of a run's clients into the queue. Until ctx ends, it puts a new share in the place of each
// share that fails or ends. version is the version of this program. It returns an error if the first n shares cannot be
// put into the queue.
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

// shares makes the shares of one run.
type shares struct {
	queue        workqueue.Queue
	version, run string
	number       atomic.Int64 // number of the latest share
}

func (s *shares) put(ctx context.Context) (id string, err error) {
	u, err := newUnit(KindShare, s.version, "", shareUnit{s.run, int(s.number.Add(1))})
	if err != nil {
		return "", err
	}
	return u.ID(), s.queue.Put(ctx, u)
}

// offer waits until the share with the given id has ended, and then puts a new share into the queue. It does the same
// for each new share, until ctx ends or the queue can no longer be used.
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
