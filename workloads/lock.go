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
	TTL  time.Duration // lease asked for; default: each lock has one of its own, see [Locks]
	Hold time.Duration // mean time for which an owner needs the lock, most of the time; default 5ms

	// Resource lets each owner update something that the lock guards: it reads what is there, thinks for as long as it
	// usually holds the lock, and writes back what it has read and a number of its own. What the locks guard is simulated
	// inside the harness, and what it is in the end is read and recorded. The tokens of a [Fencer] go with each read and
	// each write, and an older one than the resource has seen is refused.
	Resource bool
}

// Locks races clients for locks that newLocker makes. Every client tries a random lock, once; when it is granted, it
// holds and releases. Most holds are as short as Hold says; where the lock is an [Extender], one in eight of them renews its
// lease half way. In between each lock is held to the end of its lease and
// beyond, by turns: what an owner does then is listed in lock_late.go. Holding longer than the lease is not counted against
// the lock. Other clients try it in the instant in which that lease ends, some under names that begin the owner's name
// or begin with it.
//
// Without a TTL in the options the locks have leases of different lengths, none a whole number of seconds: 1337ms,
// 350ms and, where there are at least three locks, 77ms for one in five.
//
// When the load is over and every lease has ended, the harness itself tries each lock: if it is refused, the lock is
// stuck. It does not wait for leases of more than a minute; then nothing is known of a lock that is refused.
func Locks(c Connector, o LockOptions, newLocker func(redis.UniversalClient) Locker) harness.Workload {
	o.Name = cmp.Or(o.Name, "lock")
	o.Keys = cmp.Or(o.Keys, 5)
	l := &locks{pool: newPool(c), newLocker: newLocker, keys: map[string]*lockKeyState{}}
	late := newLateHolds(o.Keys)
	for i := range o.Keys {
		lease := cmp.Or(o.TTL, leaseOf(i, o.Keys))
		l.keys[lockKey(i)] = &lockKeyState{lease: lease, others: late, turn: i, due: lease / 4}
	}
	o.TTL = cmp.Or(o.TTL, longestLease)
	l.opts = o
	return l
}

type locks struct {
	pool      *pool
	opts      LockOptions
	newLocker func(redis.UniversalClient) Locker
	quorum                             // instead, of a lock on several masters
	resource  resource                 // what the locks guard
	keys      map[string]*lockKeyState // the locks
}

func (l *locks) Name() string { return l.opts.Name }

func (l *locks) Kinds() []harness.Kind {
	kinds := []harness.Kind{harness.Acquire, harness.Release}
	if l.extends() {
		kinds = append(kinds, harness.Extend)
	}
	if l.opts.Resource {
		kinds = append(kinds, harness.Add, harness.Read)
	}
	return kinds
}

// Situations are what the load of a lock brings about, if it lasts for some leases.
func (l *locks) Situations() []harness.SituationName {
	return []harness.SituationName{harness.LeaseEndedInside}
}

func (l *locks) extends() (yes bool) {
	_, yes = l.sample().(Extender)
	return yes
}

// Fenced reports whether grants carry fencing tokens.
func (l *locks) Fenced() (yes bool) {
	_, yes = l.sample().(Fencer)
	return yes
}

// sample is one of the locks, without a connection, or nil: a constructor that cannot do without one says nothing.
func (l *locks) sample() (one Locker) {
	defer func() { _ = recover() }()
	if l.newQuorum != nil {
		return l.newQuorum(nil)
	}
	return l.newLocker(nil)
}

func (l *locks) Open(_ context.Context, group int) (harness.Client, error) { return l.open(group) }

func (l *locks) open(group int) (*lockClient, error) {
	lock, err := l.locker(group)
	if err != nil {
		return nil, err
	}
	return &lockClient{lock: lock, opts: l.opts, resource: &l.resource, keys: l.keys}, nil
}

// longestWait is the longest lease whose end the harness waits for when the load is over.
const longestWait = time.Minute

// Finish reads what the locks guard and tries every lock, after all leases that are not too long to wait for. What comes of a
// try is recorded, and is no error of Finish.
func (l *locks) Finish(ctx context.Context, s *harness.Session) error {
	c, err := l.open(0)
	if err != nil {
		return err
	}
	lease := fullSeconds(l.opts.TTL) // what locks make of it that know of nothing shorter
	if lease <= longestWait {
		outwait(s, lease)
	}
	for i := range l.opts.Keys {
		if l.opts.Resource {
			l.resource.readAll(s, lockKey(i))
		}
		c.probe(ctx, s, lockKey(i))
	}
	return nil
}

// outwait waits until a lease is over that nobody renews, clocks that differ included.
func outwait(s *harness.Session, lease time.Duration) {
	s.Sleep(lease + lease/20 + 50*time.Millisecond)
}

func lockKey(i int) string { return fmt.Sprintf("lock-%d", i) }

type lockClient struct {
	lock     Locker
	opts     LockOptions
	resource *resource                // for Step, if the options ask for it
	keys     map[string]*lockKeyState // what all clients know of each lock; of locks that are not in it nothing is
	tries    int
}

// newOwner is a token that no other attempt uses.
func (c *lockClient) newOwner(s *harness.Session) string {
	c.tries++
	return fmt.Sprintf("client-%d-%d-%s", s.Client(), c.tries, nameTail)
}

// lease is what is asked for of a lock.
func (c *lockClient) lease(key string) time.Duration {
	if k := c.keys[key]; k != nil {
		return k.lease
	}
	return c.opts.TTL
}

// Step tries one lock once and, if it was granted, does what the lock is for, holds it and releases it.
func (c *lockClient) Step(ctx context.Context, s *harness.Session) {
	key := lockKey(s.Rand.IntN(c.opts.Keys))
	k := c.keys[key]
	got := c.acquire(ctx, s, key, c.nameFor(s, k))
	if got.Err == harness.Held && got.Due == 0 { // in an open loop nobody waits for anybody
		got = c.ambush(ctx, s, key, got)
	}
	if got.Outcome != harness.OK {
		if got.Err != harness.Held {
			s.Backoff()
		}
		return
	}
	until := got.Return + c.usualHold(s.Rand, k)
	late := k.next(got.Return)
	if c.opts.Resource {
		c.update(s, key, got.Arg, got.Result)
	}
	if late {
		c.holdLate(ctx, s, k, got)
	} else {
		c.hold(ctx, s, got, until)
	}
	c.release(ctx, s, key, got.Arg)
	if late {
		k.over(s.Now(), c.holdMean())
	}
}

// renewsOneIn is of how many usual holds one renews its lease: in a load shorter than a lease nothing else asks for that.
const renewsOneIn = 8

// hold keeps the lock that was granted by got until then. Some owners renew their lease half way; who is told that the lock
// is another's gives up at once.
func (c *lockClient) hold(ctx context.Context, s *harness.Session, got harness.Op, until time.Duration) {
	if _, extender := c.lock.(Extender); extender && s.Rand.IntN(renewsOneIn) == 0 {
		if s.Sleep((until-s.Now())/2) && c.extend(ctx, s, got.Key, got.Arg).Outcome == harness.Fail {
			return
		}
	}
	s.Sleep(until - s.Now())
}

// probe tries the lock until it is granted, a few times: a connection may not yet know that the system is whole, and a
// refusal may be what repairs a lock.
func (c *lockClient) probe(ctx context.Context, s *harness.Session, key string) {
	for range probes {
		owner := c.newOwner(s)
		got := c.acquire(ctx, s, key, owner)
		if got.Outcome == harness.OK {
			c.release(ctx, s, key, owner)
		}
		if got.Outcome == harness.OK || ctx.Err() != nil {
			return
		}
		s.Backoff()
	}
}

// acquire tries the lock once and records it.
func (c *lockClient) acquire(ctx context.Context, s *harness.Session, key, owner string) harness.Op {
	op := harness.Op{Kind: harness.Acquire, Key: key, Arg: owner, TTL: c.lease(key)}
	return s.Invoke(op, func(op *harness.Op) {
		ctx, call := track(ctx)
		granted, err := c.lock.Acquire(ctx, key, owner, op.TTL)
		answered(op, call, granted, err, harness.Held)
		if f, ok := c.lock.(Fencer); ok && op.Outcome == harness.OK {
			op.Result = f.Fence()
		}
	})
}

// extend renews the lease of a lock that is an Extender and records it.
func (c *lockClient) extend(ctx context.Context, s *harness.Session, key, owner string) harness.Op {
	op := harness.Op{Kind: harness.Extend, Key: key, Arg: owner, TTL: c.lease(key)}
	return s.Invoke(op, func(op *harness.Op) {
		ctx, call := track(ctx)
		mine, err := c.lock.(Extender).Extend(ctx, key, owner, op.TTL)
		answered(op, call, mine, err, harness.NotMine)
	})
}

// release gives the lock up and records it.
func (c *lockClient) release(ctx context.Context, s *harness.Session, key, owner string) harness.Op {
	return s.Invoke(harness.Op{Kind: harness.Release, Key: key, Arg: owner}, func(op *harness.Op) {
		ctx, call := track(ctx)
		mine, err := c.lock.Release(ctx, key, owner)
		answered(op, call, mine, err, harness.NotMine)
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

// errGivenBack is the error of an Acquire that took the lock, was not content with it and has given it back for
// certain: no refusal, since nobody else need have it.
var errGivenBack = errors.New("given back")

// usualHoldMean is what a client needs the lock for, most of the time.
const usualHoldMean = 5 * time.Millisecond

func (c *lockClient) holdMean() time.Duration { return cmp.Or(c.opts.Hold, usualHoldMean) }

// usualHold draws how long a client keeps a lock, most of the time.
func (c *lockClient) usualHold(rng *rand.Rand, k *lockKeyState) time.Duration {
	return min(time.Duration(rng.ExpFloat64()*float64(c.holdMean())), k.lease/4)
}

// probes is how often the harness asks for a lock that is refused when no lease is left. What is granted then was not
// stuck: algorithms may use a refusal to tidy up.
const probes = 3
