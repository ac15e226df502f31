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
	// First marks the message id as seen and reports whether it was not yet marked within the window. Of all callers,
	// exactly one must be told true. An error leaves open whether the message was marked.
	First(ctx context.Context, id string, window time.Duration) (bool, error)
}

// Confirmer is a Deduper that marks in two steps: First only claims the message for a lease, and Confirm marks it as
// delivered. A message that is claimed and never confirmed can be claimed again after the lease. So no message is lost
// when its worker crashes.
type Confirmer interface {
	Deduper
	// Lease returns how long an unconfirmed claim lasts, for messages that stay marked for the given window.
	Lease(window time.Duration) time.Duration
	// Confirm marks the message id as delivered for the given window. The caller has claimed it before. Confirm returns
	// false without an error if the claim was no longer the caller's. An error leaves open whether the message was
	// marked.
	Confirm(ctx context.Context, id string, window time.Duration) (bool, error)
}

// Inspector is a Deduper that can show its marks. After the load the harness inspects some of them. A mark that never
// ends is a [harness.ImmortalMark]. A filter without Inspect is judged by the answers to claims alone.
type Inspector interface {
	Deduper
	// Inspect reports whether the message id is marked, and for how long still. It changes nothing. For a marked message,
	// remaining is 0 only if the mark never ends. After an error both results are unknown.
	Inspect(ctx context.Context, id string) (marked bool, remaining time.Duration, err error)
}

// Dedups lets workers claim messages from a filter that the function newDeduper makes. A worker that is told that a
// message is new delivers it at once.
//
//   - Each message comes to FanOut workers at about the same time, as a queue would push it.
//   - One delivery in twenty repeats an earlier message, most often just before its window ends: see dedup_again.go.
//   - With a [Confirmer], one claim in five hundred is confirmed late, after up to 1.6 times its lease.
//
// After the load the harness itself claims some messages: the latest ones, some of the oldest, and those that were
// claimed and not delivered. A message that nobody has delivered and that is not new to the filter is lost. A message
// whose window has just ended is not claimed, since a filter may keep its marks somewhat longer. With a [Confirmer] the
// harness first waits for the leases of all claims to end; if a lease is longer than 15 seconds, it claims nothing.
func Dedups(c Connector, o Options, newDeduper func(redis.UniversalClient) Deduper) harness.Workload {
	o.Name = cmp.Or(o.Name, "dedup")
	o.TTL = cmp.Or(o.TTL, defaultWindow)
	o.FanOut = cmp.Or(o.FanOut, 8)
	d := &dedups{pool: newPool(c), opts: o, newDeduper: newDeduper}
	d.marks.window, d.received.window = o.TTL, o.TTL
	return d
}

// defaultWindow is not a whole number of seconds, so that marks truncated to whole seconds are found.
const defaultWindow = 1300 * time.Millisecond

type dedups struct {
	pool       *pool
	opts       Options
	newDeduper func(redis.UniversalClient) Deduper
	delivered  atomic.Int64 // number of deliveries to all workers so far
	claimed    undelivered
	marks      sampledTimes // messages by the time at which they were marked for the window
	received   sampledTimes // messages by the time at which they first came
	slow       slowClaims
}

func (d *dedups) Name() string { return d.opts.Name }

func (d *dedups) Kinds() []harness.Kind { return dedupKinds(d.newDeduper) }

// Situations lists the critical moments that the load brings about if it lasts for several windows.
func (d *dedups) Situations() []harness.SituationName {
	return []harness.SituationName{harness.AskedAgainAtEnd, harness.AskedAgainAfter}
}

// dedupKinds lists the kinds of operation of a filter.
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
	return &dedupClient{filter: d.newDeduper(r), window: d.opts.TTL, load: d}, nil
}

type dedupClient struct {
	filter Deduper
	window time.Duration

	// load gives out messages. It is nil for a client of a search.
	load *dedups
}

// Step receives one message and claims it. If the message is new, Step delivers it and, for a Confirmer, confirms the
// delivery.
func (c *dedupClient) Step(ctx context.Context, s *harness.Session) {
	number, again := c.load.receive(s)
	id := c.load.message(number)
	op := c.claim(ctx, s, id)
	if op.Outcome == harness.Info || op.Result == harness.ResultFirst {
		c.load.claimed.add(number)
	}
	if op.Outcome == harness.OK && op.Result == harness.ResultFirst {
		c.deliver(s, id)
		c.load.claimed.remove(number)
		op = c.confirmClaim(ctx, s, number, op)
		if op.Outcome == harness.OK && !again { // a message that is marked twice would have two ages
			c.load.marks.add(number, op.Call)
		}
	}
	if op.Err != "" && op.Err != harness.NotMine {
		s.Backoff()
	}
}

// confirmClaim confirms a claimed message if the filter is a Confirmer. It returns the operation that marked the
// message for the whole window: the confirm, or for other filters the claim.
func (c *dedupClient) confirmClaim(ctx context.Context, s *harness.Session, number int64, claim harness.Op) harness.Op {
	if _, ok := c.filter.(Confirmer); !ok {
		return claim
	}
	if s.Rand.Float64() < slowToConfirm {
		c.load.slow.wait(s, number, claim)
	}
	return c.confirm(ctx, s, c.load.message(number))
}

// claim asks whether the message is new. A claim that has to be confirmed lasts for its lease only.
func (c *dedupClient) claim(ctx context.Context, s *harness.Session, id string) harness.Op {
	ttl := c.window
	if f, ok := c.filter.(Confirmer); ok {
		ttl = f.Lease(c.window)
	}
	return s.Invoke(harness.Op{Kind: harness.Claim, Key: id, TTL: ttl}, func(op *harness.Op) {
		ctx, call := withCall(ctx)
		first, err := c.filter.First(ctx, id, c.window)
		if !call.finish(op, err) {
			return
		}
		op.Result = harness.ResultSeen
		if first {
			op.Result = harness.ResultFirst
		}
	})
}

// deliver delivers the message. No command of the filter is involved, so it always succeeds.
func (c *dedupClient) deliver(s *harness.Session, id string) harness.Op {
	return s.Invoke(harness.Op{Kind: harness.Deliver, Key: id}, func(op *harness.Op) { op.Outcome = harness.OK })
}

// confirm tells the filter that the message was delivered. If the filter is not a Confirmer, it does nothing and
// returns the zero Op.
func (c *dedupClient) confirm(ctx context.Context, s *harness.Session, id string) harness.Op {
	f, ok := c.filter.(Confirmer)
	if !ok {
		return harness.Op{}
	}
	return s.Invoke(harness.Op{Kind: harness.Confirm, Key: id, TTL: c.window}, func(op *harness.Op) {
		ctx, call := withCall(ctx)
		mine, err := f.Confirm(ctx, id, c.window)
		setOutcome(op, call, mine, err, harness.NotMine)
	})
}

// receive returns the number of the message that the caller gets next. The second result is true if the message repeats
// an earlier one.
func (d *dedups) receive(s *harness.Session) (number int64, again bool) {
	if s.Rand.Float64() < redelivered {
		if number, ok := d.drawRepeated(s); ok {
			return number, true
		}
	}
	if d.opts.Share.isPart() {
		return d.opts.Share.message(s.Now(), d.opts.FanOut), false
	}
	n, fanOut := d.delivered.Add(1)-1, int64(d.opts.FanOut)
	if n%fanOut == 0 {
		d.received.add(n/fanOut, s.Now())
	}
	return n / fanOut, false
}

const messagePrefix = "msg-"

func (d *dedups) message(number int64) string {
	return fmt.Sprintf("%s%s%d", d.opts.Prefix, messagePrefix, number)
}
