package workloads

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// Deduper is a message filter under test. One Deduper serves one client, from one goroutine.
type Deduper interface {
	// First marks the message id as seen and reports whether it had not been seen within the window: exactly one of any
	// number of callers must be told true. Any error leaves open whether the message was marked.
	First(ctx context.Context, id string, window time.Duration) (bool, error)
}

// Confirmer is a Deduper that marks in two steps: First only claims the message for a lease, and Confirm marks it as
// delivered. What was claimed and never confirmed can be claimed again when the lease is over, so no message is lost
// when its worker crashes.
type Confirmer interface {
	Deduper
	// Lease is how long a claim lasts without a confirmation, for messages that stay marked for window.
	Lease(window time.Duration) time.Duration
	// Confirm marks the message that the caller has claimed as delivered, for window. It returns false without an error
	// when the claim was no longer the caller's. Any error leaves open whether the message was marked.
	Confirm(ctx context.Context, id string, window time.Duration) (bool, error)
}

// DedupOptions shape the load on a filter. Zero values mean the defaults.
type DedupOptions struct {
	Name   string        // of the workload in reports; default "dedup"
	Window time.Duration // for how long a message stays marked; default 20s
	FanOut int           // how many workers receive each message at about the same time; default 8
}

// Dedups lets workers claim messages from a filter that newDeduper makes. Each message goes to FanOut workers at about
// the same time, as a queue leader would push it; one delivery in twenty repeats a message of the recent past. The
// worker that is told that a message is new hands it on at once.
//
// When the load is over the harness itself asks for some messages: the latest ones, and those that were claimed and not
// handed on. One that is not new to it is lost if nobody has delivered it. It asks a [Confirmer] when the claims' leases
// have ended, and not at all if that takes longer than 15 seconds.
func Dedups(c Connector, o DedupOptions, newDeduper func(redis.UniversalClient) Deduper) harness.Workload {
	o.Name = cmp.Or(o.Name, "dedup")
	o.Window = cmp.Or(o.Window, 20*time.Second)
	o.FanOut = cmp.Or(o.FanOut, 8)
	return &dedups{pool: newPool(c), opts: o, newDeduper: newDeduper}
}

const (
	redelivered     = 0.05 // of all deliveries repeat an earlier message ...
	redeliveredFrom = 1000 // ... out of this many latest
)

type dedups struct {
	pool       *pool
	opts       DedupOptions
	newDeduper func(redis.UniversalClient) Deduper
	delivered  atomic.Int64 // by all workers: the leader's position
	claimed    claimed
}

func (d *dedups) Name() string { return d.opts.Name }

func (d *dedups) Kinds() []harness.Kind { return dedupKinds(d.newDeduper) }

// dedupKinds are the kinds of operation that go with a filter.
func dedupKinds(newDeduper func(redis.UniversalClient) Deduper) []harness.Kind {
	kinds := []harness.Kind{harness.Claim, harness.Deliver}
	if _, ok := newDeduper(nil).(Confirmer); ok {
		kinds = append(kinds, harness.Confirm)
	}
	return kinds
}

func (d *dedups) Open(_ context.Context, group int) (harness.Client, error) { return d.open(group) }

func (d *dedups) open(group int) (*dedupClient, error) {
	r, err := d.pool.client(group)
	if err != nil {
		return nil, err
	}
	return &dedupClient{filter: d.newDeduper(r), redis: r, window: d.opts.Window, load: d}, nil
}

type dedupClient struct {
	filter Deduper
	window time.Duration

	// Where messages come from and are looked for in the end; nil where neither Step nor probe is called.
	load  *dedups
	redis redis.UniversalClient
}

// Step receives one message and claims it. A message that is new is handed on and, where the filter asks for it,
// confirmed.
func (c *dedupClient) Step(ctx context.Context, s *harness.Session) {
	number := c.load.receive(s)
	id := message(number)
	op := c.claim(ctx, s, id)
	if op.Outcome == harness.Info || op.Result == harness.ResultFirst {
		c.load.claimed.add(number)
	}
	if op.Outcome == harness.OK && op.Result == harness.ResultFirst {
		c.deliver(s, id)
		c.load.claimed.remove(number)
		op = c.confirm(ctx, s, id)
	}
	if op.Err != "" && op.Err != notMine {
		s.Backoff()
	}
}

// claim asks whether the message is new. A claim that has to be confirmed lasts for its lease only.
func (c *dedupClient) claim(ctx context.Context, s *harness.Session, id string) harness.Op {
	ttl := c.window
	if f, ok := c.filter.(Confirmer); ok {
		ttl = f.Lease(c.window)
	}
	return s.Invoke(harness.Op{Kind: harness.Claim, Key: id, TTL: ttl}, func(op *harness.Op) {
		ctx, call := track(ctx)
		first, err := c.filter.First(ctx, id, c.window)
		if !call.settle(op, err) {
			return
		}
		op.Result = harness.ResultSeen
		if first {
			op.Result = harness.ResultFirst
		}
	})
}

// deliver hands the message on. No command of the filter is involved, so it always succeeds.
func (c *dedupClient) deliver(s *harness.Session, id string) harness.Op {
	return s.Invoke(harness.Op{Kind: harness.Deliver, Key: id}, func(op *harness.Op) { op.Outcome = harness.OK })
}

// confirm says that the message was handed on. Where the filter does not ask for that, it does nothing and returns the
// zero Op.
func (c *dedupClient) confirm(ctx context.Context, s *harness.Session, id string) harness.Op {
	f, ok := c.filter.(Confirmer)
	if !ok {
		return harness.Op{}
	}
	return s.Invoke(harness.Op{Kind: harness.Confirm, Key: id, TTL: c.window}, func(op *harness.Op) {
		ctx, call := track(ctx)
		mine, err := f.Confirm(ctx, id, c.window)
		answered(op, call, mine, err, notMine)
	})
}

// receive is the number of the message that the caller gets now.
func (d *dedups) receive(s *harness.Session) int64 {
	id := (d.delivered.Add(1) - 1) / int64(d.opts.FanOut)
	if s.Rand.Float64() < redelivered {
		id -= s.Rand.Int64N(min(id+1, redeliveredFrom))
	}
	return id
}

func message(number int64) string { return fmt.Sprintf("msg-%d", number) }
