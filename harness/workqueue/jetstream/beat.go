package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	beatEvery = time.Second
	deadAfter = 5 * time.Second // a coordinator that says nothing for so long is taken for dead
)

// beat is what the coordinator writes, again and again.
type beat struct {
	Me string `json:"me"` // of this process alone
	As string `json:"as"`
	N  int    `json:"n"`
}

// beats are those of this coordinator.
type beats struct {
	mu       sync.Mutex
	last     beat
	revision uint64 // of the last
	gone     bool   // the coordination was removed: no further beat
}

func (b *beats) lastRevision() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.revision
}

// takeLead makes this process the coordinator.
func (q *Queue) takeLead(ctx context.Context) error {
	mine := beat{Me: unique(), As: q.as}
	revision, err := q.firstBeat(ctx, mine)
	if err != nil {
		return err
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	q.stop, q.leads = stop, true
	q.beats.last, q.beats.revision = mine, revision
	q.beating.Go(func() { q.beatOn(beating) })
	return nil
}

// firstBeat waits until nobody else beats, and beats.
func (q *Queue) firstBeat(ctx context.Context, mine beat) (revision uint64, err error) {
	var seen uint64 // revision of another's last beat
	var since time.Time
	for {
		wait := false
		err = q.try(ctx, "coordinate "+q.name, attemptTime, func(ctx context.Context) error {
			e, err := q.keys.Get(ctx, keyCoordinator)
			switch {
			case isGone(err):
				revision, err = q.keys.Create(ctx, keyCoordinator, encoded(mine))
				return err
			case err != nil:
				return err
			}
			var other beat
			if json.Unmarshal(e.Value(), &other) == nil && other.Me == mine.Me { // an answer was lost
				revision = e.Revision()
				return nil
			}
			if seen == 0 {
				seen, since = e.Revision(), time.Now()
			}
			if e.Revision() > seen { // an older one is no sign of life
				return fmt.Errorf("%w: %s, by %s: let it end, or choose another --name", ErrTaken, q.name, other.As)
			}
			if wait = time.Since(since) < deadAfter; wait {
				return nil
			}
			revision, err = q.keys.Update(ctx, keyCoordinator, encoded(mine), seen)
			return err
		})
		if isConflict(err) { // another was faster
			err, wait = nil, true
		}
		if err != nil || !wait {
			return revision, err
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// beatOn beats until ctx is canceled, or another has taken over.
func (q *Queue) beatOn(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		one, cancel := context.WithTimeout(ctx, attemptTime)
		err := q.beatOnce(one)
		cancel()
		if errors.Is(err, ErrTaken) {
			return
		}
	}
}

// leadStill beats once more. What only the coordinator may do comes after it: the error wraps ErrTaken if that is another by now.
func (q *Queue) leadStill(ctx context.Context) error {
	if !q.leads {
		return fmt.Errorf("jetstream: %s does not coordinate %s", q.as, q.name)
	}
	return q.beatOnce(ctx)
}

// beatOnce beats. The error wraps ErrTaken if another has taken over.
func (q *Queue) beatOnce(ctx context.Context) error {
	b := &q.beats
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return jetstream.ErrBucketNotFound
	}
	b.last.N++
	next, err := q.keys.Update(ctx, keyCoordinator, encoded(b.last), b.revision)
	if isConflict(err) {
		next, err = q.ownBeat(ctx)
	}
	if errors.Is(err, ErrTaken) {
		q.lost.Store(&err)
		q.wake()
	}
	if err == nil {
		b.revision = next
	}
	return err
}

// ownBeat returns the revision of our last beat, whose answer was lost. The error wraps ErrTaken if another's is there.
func (q *Queue) ownBeat(ctx context.Context) (uint64, error) {
	e, err := q.keys.Get(ctx, keyCoordinator)
	if err != nil {
		return 0, err
	}
	if e.Revision() <= q.beats.revision {
		return 0, notYet{"the last beat is not there yet"}
	}
	var last beat
	if json.Unmarshal(e.Value(), &last) == nil && last.Me == q.beats.last.Me {
		return e.Revision(), nil
	}
	return 0, fmt.Errorf("%w: %s has taken %s over, while this one was cut off", ErrTaken, last.As, q.name)
}
