package workloads

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// This file claims messages after the load, to find out what the filter remembers.

const (
	mostProbed = 1000 // largest number of undelivered messages that are probed; also the number of latest ones
	// longestLeaseAwaited is the longest lease whose end the harness awaits after the load.
	longestLeaseAwaited = 15 * time.Second
)

// undelivered holds the messages that a client may have marked and nobody has delivered yet.
type undelivered struct {
	mu      sync.Mutex
	numbers map[int64]struct{}
}

func (c *undelivered) add(number int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.numbers == nil {
		c.numbers = map[int64]struct{}{}
	}
	c.numbers[number] = struct{}{}
}

func (c *undelivered) remove(number int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.numbers, number)
}

// latest lists the latest n messages, in order.
func (c *undelivered) latest(n int) []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Sorted(maps.Keys(c.numbers))
	return all[max(0, len(all)-n):]
}

// Finish claims messages and records the answers for the checkers. A wrong answer is not an error of Finish.
func (d *dedups) Finish(ctx context.Context, s *harness.Session) error {
	c, err := d.open(0)
	if err != nil {
		return err
	}
	if f, ok := c.filter.(Confirmer); ok {
		lease := f.Lease(d.opts.TTL)
		if lease > longestLeaseAwaited {
			return nil
		}
		waitOutLease(s, lease)
	}
	now := s.Now()
	for _, number := range d.messagesToAsk(now) {
		if ctx.Err() != nil {
			return nil
		}
		c.probe(ctx, s, number)
	}
	return nil
}

// messagesToAsk lists the messages to claim around the given time. These are the messages that were claimed and not
// delivered, the latest, and some that came so long ago that their marks have to be gone.
func (d *dedups) messagesToAsk(now time.Duration) []int64 {
	all := d.claimed.latest(mostProbed)
	end := (d.delivered.Load() + int64(d.opts.FanOut) - 1) / int64(d.opts.FanOut)
	for number := max(0, end-mostProbed); number < end; number++ {
		all = append(all, number)
	}
	all = append(all, d.received.oldest(mostOldProbed, now-d.certainlyGoneAge())...)
	slices.Sort(all)
	return slices.Compact(all)
}

const mostOldProbed = 100 // number of old messages that are probed

// certainlyGoneAge returns the age from which a message has to be new again: three windows and a quarter, and a second.
// The load may repeat a message just after its window, and so renew its mark. Filters may round windows up to seconds,
// or keep marks in buckets of two windows.
func (d *dedups) certainlyGoneAge() time.Duration { return d.opts.TTL*13/4 + time.Second }

// isConclusive reports whether the answer to a claim at the given time proves anything. An answer proves something
// inside the message's window and long after the window, but not around the window's end.
func (d *dedups) isConclusive(number int64, now time.Duration) bool {
	age := now - d.received.timeOf(number)
	return age < d.opts.TTL*97/100 || age > d.certainlyGoneAge()
}

// probe inspects the message's mark, if the filter is an Inspector, and claims the message. If it gets no answer, it
// tries again, up to three times in all: after a fault, a connection may fail once before it is replaced.
func (c *dedupClient) probe(ctx context.Context, s *harness.Session, number int64) {
	id := c.load.message(number)
	if f, ok := c.filter.(Inspector); ok {
		c.inspect(ctx, s, f, id)
	}
	for range 3 {
		if !c.load.isConclusive(number, s.Now()) {
			return
		}
		if op := c.claim(ctx, s, id); op.Outcome == harness.OK || ctx.Err() != nil {
			return
		}
		s.Backoff()
	}
}

// inspect asks the filter for the message's mark and records the answer.
func (c *dedupClient) inspect(ctx context.Context, s *harness.Session, f Inspector, id string) {
	s.Invoke(harness.Op{Kind: harness.Inspect, Key: id}, func(op *harness.Op) {
		marked, remaining, err := f.Inspect(ctx, id)
		switch {
		case err != nil:
			op.Outcome, op.Err = harness.Fail, reason(err)
		case marked:
			op.Outcome, op.Result, op.TTL = harness.OK, "marked", remaining
		default:
			op.Outcome = harness.OK
		}
	})
}

// markedByKey is embedded in filters whose mark is a Redis key with the message's name. The key ends by its TTL alone.
type markedByKey struct{ redis redis.UniversalClient }

func (f markedByKey) Inspect(ctx context.Context, id string) (marked bool, remaining time.Duration, err error) {
	remaining, err = f.redis.PTTL(ctx, id).Result()
	switch {
	case err != nil || remaining == noKey:
		return false, 0, err
	case remaining == noEnd:
		return true, 0, nil
	}
	return true, max(time.Millisecond, remaining), nil
}

// go-redis returns these two values for the replies of PTTL that are not times.
const (
	noEnd = time.Duration(-1)
	noKey = time.Duration(-2)
)
