package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// Locker is a lock under test. One Locker serves one client, from one goroutine.
type Locker interface {
	// Acquire tries once to take the lock key for ttl in the name of owner, a token that no other attempt ever uses. It
	// returns false without an error when somebody else has the lock. Any error leaves open whether the lock was taken.
	Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error)
	// Release gives the lock up. It returns false without an error when the lock was no longer owner's.
	Release(ctx context.Context, key, owner string) (bool, error)
}

// Extender is a Locker whose lease can be renewed while it is held.
type Extender interface {
	Locker
	// Extend renews the lease of a lock that owner has, to ttl from now. It returns false without an error when the lock
	// was no longer owner's. Any error leaves open whether it was renewed.
	Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error)
}

// Fencer is a Locker whose grants carry fencing tokens: each larger than the tokens of the grants before it, so that a
// resource can refuse whoever comes with an older one.
type Fencer interface {
	Locker
	// Fence is the token of the last lock that was granted, a decimal number.
	Fence() string
}

// LockOptions shape the load on a lock. Zero values mean the defaults.
type LockOptions struct {
	Name string        // of the workload in reports; default "lock"
	Keys int           // locks to race for; default 5
	TTL  time.Duration // lease asked for; default 2s
	Hold time.Duration // mean time for which an owner needs the lock, most of the time; default 5ms

	// Resource lets each owner update something that the lock guards: it reads what is there, thinks for as long as it
	// usually holds the lock, and writes back what it has read and a number of its own. What the locks guard is simulated
	// inside the harness, and what it is in the end is read and recorded. The tokens of a [Fencer] go with each read and
	// each write, and an older one than the resource has seen is refused.
	Resource bool
}

// Locks races clients for locks that newLocker makes. Every client tries a random lock, once; when it is granted, it
// holds and releases. Most holds are as short as Hold says; a few end right at the end of the lease and a few outlive it,
// as happens to every application that is paused for too long: a release that comes too late must not harm the next
// owner. Holding longer than the lease is not counted against the lock. An [Extender]'s lease is renewed every third of
// it, as by a watchdog, except that in half of the holds the watchdog is paused along with its application.
//
// When the load is over and every lease has ended, the harness itself tries each lock: if it is refused, the lock is
// stuck.
func Locks(c Connector, o LockOptions, newLocker func(redis.UniversalClient) Locker) harness.Workload {
	o.Name = cmp.Or(o.Name, "lock")
	o.Keys = cmp.Or(o.Keys, 5)
	o.TTL = cmp.Or(o.TTL, 2*time.Second)
	return &locks{pool: newPool(c), opts: o, newLocker: newLocker}
}

type locks struct {
	pool      *pool
	opts      LockOptions
	newLocker func(redis.UniversalClient) Locker
	quorum             // instead, of a lock on several masters
	resource  resource // what the locks guard
}

func (l *locks) Name() string { return l.opts.Name }

func (l *locks) Kinds() []harness.Kind {
	kinds := []harness.Kind{harness.Acquire, harness.Release}
	if l.opts.Resource {
		kinds = append(kinds, harness.Add, harness.Read)
	}
	return kinds
}

func (l *locks) Open(_ context.Context, group int) (harness.Client, error) { return l.open(group) }

func (l *locks) open(group int) (*lockClient, error) {
	lock, err := l.locker(group)
	if err != nil {
		return nil, err
	}
	return &lockClient{lock: lock, opts: l.opts, resource: &l.resource}, nil
}

// Finish reads what the locks guard and tries every lock, after all leases. What comes of a try is recorded, and is no
// error of Finish.
func (l *locks) Finish(ctx context.Context, s *harness.Session) error {
	c, err := l.open(0)
	if err != nil {
		return err
	}
	lease := fullSeconds(l.opts.TTL) // what locks make of it that know of nothing shorter
	s.Sleep(lease + lease/20 + 50*time.Millisecond)
	for i := range l.opts.Keys {
		if l.opts.Resource {
			l.resource.readAll(s, lockKey(i))
		}
		c.probe(ctx, s, lockKey(i))
	}
	return nil
}

func lockKey(i int) string { return fmt.Sprintf("lock-%d", i) }

type lockClient struct {
	lock     Locker
	opts     LockOptions
	resource *resource // for Step, if the options ask for it
	tries    int
}

// newOwner is a token that no other attempt uses.
func (c *lockClient) newOwner(s *harness.Session) string {
	c.tries++
	return fmt.Sprintf("%d-%d", s.Client(), c.tries)
}

// Step tries one lock once and, if it was granted, does what the lock is for, holds it and releases it.
func (c *lockClient) Step(ctx context.Context, s *harness.Session) {
	key, owner := lockKey(s.Rand.IntN(c.opts.Keys)), c.newOwner(s)
	got := c.acquire(ctx, s, key, owner)
	if got.Outcome != harness.OK {
		if got.Err != refused {
			s.Backoff()
		}
		return
	}
	until := s.Now() + hold(s.Rand, c.opts, got.Return-got.Call)
	if c.opts.Resource {
		c.update(s, key, owner, got.Result)
	}
	c.keep(ctx, s, key, owner, until-s.Now())
	c.release(ctx, s, key, owner)
}

// probe tries the lock once, and again only if it got no answer: a connection may not yet know that the system is
// whole.
func (c *lockClient) probe(ctx context.Context, s *harness.Session, key string) {
	for range 3 {
		owner := c.newOwner(s)
		got := c.acquire(ctx, s, key, owner)
		if got.Outcome == harness.OK {
			c.release(ctx, s, key, owner)
		}
		if got.Outcome == harness.OK || got.Err == refused || ctx.Err() != nil {
			return
		}
		s.Backoff()
	}
}

// keep holds a lock for d, or until the load ends.
func (c *lockClient) keep(ctx context.Context, s *harness.Session, key, owner string, d time.Duration) {
	if _, ok := c.lock.(Extender); !ok || s.Rand.IntN(2) == 0 {
		s.Sleep(d)
		return
	}
	end, every := s.Now()+d, c.opts.TTL/3
	for left := d; left > every; left = end - s.Now() {
		if !s.Sleep(every) || c.extend(ctx, s, key, owner).Outcome != harness.OK {
			return // a lock that is not ours for certain is not held on to
		}
	}
	s.Sleep(end - s.Now())
}

// acquire tries the lock once and records it.
func (c *lockClient) acquire(ctx context.Context, s *harness.Session, key, owner string) harness.Op {
	op := harness.Op{Kind: harness.Acquire, Key: key, Arg: owner, TTL: c.opts.TTL}
	return s.Invoke(op, func(op *harness.Op) {
		ctx, call := track(ctx)
		granted, err := c.lock.Acquire(ctx, key, owner, c.opts.TTL)
		answered(op, call, granted, err, refused)
		if f, ok := c.lock.(Fencer); ok && op.Outcome == harness.OK {
			op.Result = f.Fence()
		}
	})
}

// extend renews the lease of a lock that is an Extender and records it.
func (c *lockClient) extend(ctx context.Context, s *harness.Session, key, owner string) harness.Op {
	op := harness.Op{Kind: harness.Extend, Key: key, Arg: owner, TTL: c.opts.TTL}
	return s.Invoke(op, func(op *harness.Op) {
		ctx, call := track(ctx)
		mine, err := c.lock.(Extender).Extend(ctx, key, owner, c.opts.TTL)
		answered(op, call, mine, err, notMine)
	})
}

// release gives the lock up and records it.
func (c *lockClient) release(ctx context.Context, s *harness.Session, key, owner string) harness.Op {
	return s.Invoke(harness.Op{Kind: harness.Release, Key: key, Arg: owner}, func(op *harness.Op) {
		ctx, call := track(ctx)
		mine, err := c.lock.Release(ctx, key, owner)
		answered(op, call, mine, err, notMine)
	})
}

// answered turns a lock's answer into the outcome of op; no is what its "no" means.
func answered(op *harness.Op, c *call, yes bool, err error, no string) {
	switch {
	case !yes && c.masters.doubtful(op, err):
	case errors.Is(err, errGivenBack):
		op.Outcome, op.Err = harness.Fail, errGivenBack.Error()
	case c.settle(op, err) && !yes:
		op.Outcome, op.Err = harness.Fail, no
	}
}

// Answers of a lock that are no errors.
const (
	refused = "held"     // somebody else has it
	notMine = "not mine" // it was no longer the caller's
)

// errGivenBack is the error of an Acquire that took the lock, was not content with it and has given it back for
// certain: no refusal, since nobody else need have it.
var errGivenBack = errors.New("given back")

// usualHoldMean is what a client needs the lock for, most of the time.
const usualHoldMean = 5 * time.Millisecond

// hold draws how long a client keeps a lock that took it trip to acquire. Long holds are so rare that a lock spends about
// as much time in them as in the usual ones. Half of them end when the lease is over. The others end within a trip or
// two of its end, on either side, where a release of several commands can be overtaken by the expiry.
func hold(rng *rand.Rand, o LockOptions, trip time.Duration) time.Duration {
	ttl, mean := o.TTL, float64(cmp.Or(o.Hold, usualHoldMean))
	long := min(0.1, mean/float64(ttl))
	p := rng.Float64()
	switch {
	case p < long/2:
		return ttl - time.Duration(3*rng.Float64()*float64(trip))
	case p < long:
		return time.Duration((1.1 + 0.4*rng.Float64()) * float64(ttl))
	default:
		return min(time.Duration(rng.ExpFloat64()*mean), ttl/4)
	}
}
