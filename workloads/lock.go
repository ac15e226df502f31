package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// Locker is a lock under test. One Locker serves one client, from one goroutine.
type Locker interface {
	// Acquire tries once to take the lock called key for the time ttl. owner is a token that no other attempt ever
	// uses. Acquire returns false without an error if somebody else has the lock. An error leaves open whether the lock
	// was taken.
	Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error)
	// Release releases the lock. It returns false without an error if the lock was no longer owner's.
	Release(ctx context.Context, key, owner string) (bool, error)
}

// Extender is a Locker whose lease can be renewed while it is held.
type Extender interface {
	Locker
	// Extend makes the lease of owner's lock end ttl from now. It returns false without an error if the lock was no
	// longer owner's. An error leaves open whether the lease was renewed.
	Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error)
}

// Fencer is a Locker whose grants carry fencing tokens: each is larger than the tokens of the grants before it, so a
// resource can refuse an owner with an older one.
type Fencer interface {
	Locker
	// Fence returns the token of this Locker's last grant, a decimal number.
	Fence() string
}

// Locks lets clients race for locks that newLocker makes. Each time, a client tries a random lock once. If it is
// granted the lock, it holds the lock and releases it.
//
//   - Most holds last about as long as Options.Hold says. In one of eight an [Extender] renews its lease half way.
//   - Now and then each lock is held to the end of its lease or beyond, in the ways that lock_late.go lists. Beyond its
//     lease it does not count as held.
//   - In the instant in which such a lease ends, other clients try to take the lock. Some use names that resemble the
//     owner's, such as a prefix of it.
//
// Without a TTL in the options the locks have leases of different lengths, none a whole number of seconds: 1337ms,
// 350ms and, if there are at least three locks, 77ms for one in five.
//
// After the load, when every lease has ended, the harness itself tries each lock. A lock that refuses the harness is
// stuck. If leases are longer than a minute, the harness does not wait for their end. In that case a refusal proves
// nothing.
func Locks(c Connector, o Options, newLocker func(redis.UniversalClient) Locker) harness.Workload {
	o.Name = cmp.Or(o.Name, "lock")
	o.Keys = cmp.Or(o.Keys, 5)
	l := &locks{pool: newPool(c), newLocker: newLocker, keys: map[string]*lockKeyState{}}
	late := &lateHolds{places: make(chan struct{}, o.Share.part((o.Keys+1)/2))}
	for i := range o.Keys {
		lease := cmp.Or(o.TTL, leaseOf(i, o.Keys))
		k := &lockKeyState{lease: lease, lateHolds: late, lateDue: lease / 4}
		if !o.Share.has(i) {
			k.lateDue = math.MaxInt64 // it is held late by the clients of another generator
		}
		l.keys[o.key(i)] = k
	}
	o.TTL = cmp.Or(o.TTL, longestLease)
	l.opts = o
	return l
}

type locks struct {
	pool      *pool
	opts      Options
	newLocker func(redis.UniversalClient) Locker
	resource  guardedResource          // what the locks guard
	keys      map[string]*lockKeyState // states of the locks, by name

	newQuorum  func([]redis.UniversalClient) Locker // in place of newLocker, for a lock on several masters
	minMasters int
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

// Situations lists the critical moments that the load brings about if it lasts for several leases.
func (l *locks) Situations() []harness.SituationName {
	return []harness.SituationName{harness.LeaseEndedInside}
}

func (l *locks) extends() (yes bool) {
	_, yes = l.unconnected().(Extender)
	return yes
}

// Fenced reports whether grants carry fencing tokens.
func (l *locks) Fenced() (yes bool) {
	_, yes = l.unconnected().(Fencer)
	return yes
}

// unconnected returns a lock that has no connection. The lock's type shows what the lock can do. The result is nil if
// the constructor needs a connection.
func (l *locks) unconnected() (one Locker) {
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

// longestWait is the longest lease whose end the harness waits for after the load.
const longestWait = time.Minute

// Finish waits for all leases to end, unless they are longer than longestWait. Then it reads what the locks guard,
// tries every lock and records the answers. A refusal is not an error of Finish.
func (l *locks) Finish(ctx context.Context, s *harness.Session) error {
	c, err := l.open(0)
	if err != nil {
		return err
	}
	lease := fullSeconds(l.opts.TTL) // as locks that count in seconds take it
	if lease <= longestWait {
		waitOutLease(s, lease)
	}
	for i := range l.opts.Keys {
		if l.opts.Resource {
			l.resource.readAll(s, l.opts.key(i))
		}
		c.probe(ctx, s, l.opts.key(i))
	}
	return nil
}

// waitOutLease waits until a lease that nobody renews has ended. It waits 5 % and 50 ms longer, since clocks differ.
func waitOutLease(s *harness.Session, lease time.Duration) {
	s.Sleep(lease + lease/20 + 50*time.Millisecond)
}

func (o Options) key(i int) string { return o.Prefix + lockKey(i) }

func lockKey(i int) string { return fmt.Sprintf("lock-%d", i) }

type lockClient struct {
	lock     Locker
	opts     Options
	resource *guardedResource // updated by Step if the options ask for it
	// keys has the state of each lock, by the lock's name. All clients of a load share it. In a search it is nil, and
	// every lock has the lease of opts.
	keys  map[string]*lockKeyState
	tries int
}

// newOwner returns a token that no other attempt uses.
func (c *lockClient) newOwner(s *harness.Session) string {
	c.tries++
	return fmt.Sprintf("client-%d-%d-%s", s.Client(), c.tries, nameTail)
}

// lease returns the lease to ask for.
func (c *lockClient) lease(key string) time.Duration {
	if k := c.keys[key]; k != nil {
		return k.lease
	}
	return c.opts.TTL
}

// Step tries one lock once. If the client is granted the lock, it updates the resource if there is one, holds the lock
// and releases it.
func (c *lockClient) Step(ctx context.Context, s *harness.Session) {
	key := c.opts.key(s.Rand.IntN(c.opts.Keys))
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
	late := k.beginLate(got.Return)
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
		k.endLate(s.Now(), c.holdMean())
	}
}

// renewsOneIn says how many of the usual holds have a renewal: one in eight. A load that is shorter than its leases has
// hardly any other renewal.
const renewsOneIn = 8

// hold keeps a lock until the given time. The operation granted is the acquire that took the lock. In one of eight
// holds (renewsOneIn) the owner renews its lease half way. After a refused renewal the owner keeps the lock all the
// same, so that the load shows whether others are refused meanwhile.
func (c *lockClient) hold(ctx context.Context, s *harness.Session, granted harness.Op, until time.Duration) {
	if _, extender := c.lock.(Extender); extender && s.Rand.IntN(renewsOneIn) == 0 {
		if s.Sleep((until - s.Now()) / 2) {
			c.extend(ctx, s, granted.Key, granted.Arg)
		}
	}
	s.Sleep(until - s.Now())
}

// probe tries the lock until it is granted, at most three times (the constant probes). One try may fail although the
// lock is not stuck: after a fault, a connection may fail once before it is replaced, and an algorithm may repair a
// lock while it refuses a client.
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

// acquire tries the lock once and records the try.
func (c *lockClient) acquire(ctx context.Context, s *harness.Session, key, owner string) harness.Op {
	op := harness.Op{Kind: harness.Acquire, Key: key, Arg: owner, TTL: c.lease(key)}
	return s.Invoke(op, func(op *harness.Op) {
		ctx, call := withCall(ctx)
		granted, err := c.lock.Acquire(ctx, key, owner, op.TTL)
		setOutcome(op, call, granted, err, harness.Held)
		if f, ok := c.lock.(Fencer); ok && op.Outcome == harness.OK {
			op.Result = f.Fence()
		}
	})
}

// extend renews the lease of a lock that is an Extender and records the renewal.
func (c *lockClient) extend(ctx context.Context, s *harness.Session, key, owner string) harness.Op {
	op := harness.Op{Kind: harness.Extend, Key: key, Arg: owner, TTL: c.lease(key)}
	return s.Invoke(op, func(op *harness.Op) {
		ctx, call := withCall(ctx)
		mine, err := c.lock.(Extender).Extend(ctx, key, owner, op.TTL)
		setOutcome(op, call, mine, err, harness.NotMine)
	})
}

// release releases the lock and records the release.
func (c *lockClient) release(ctx context.Context, s *harness.Session, key, owner string) harness.Op {
	return s.Invoke(harness.Op{Kind: harness.Release, Key: key, Arg: owner}, func(op *harness.Op) {
		ctx, call := withCall(ctx)
		mine, err := c.lock.Release(ctx, key, owner)
		setOutcome(op, call, mine, err, harness.NotMine)
	})
}

// setOutcome sets the outcome of op from a lock's answer. If the answer is a definite no, it records the argument
// refusal as the reason.
func setOutcome(op *harness.Op, c *call, yes bool, err error, refusal string) {
	switch {
	case !yes && c.masters.markInDoubt(op, err):
	case errors.Is(err, errGivenBack):
		op.Outcome, op.Err = harness.Fail, errGivenBack.Error()
	case c.finish(op, err) && !yes:
		op.Outcome, op.Err = harness.Fail, refusal
	}
}

// errGivenBack is the error of an Acquire that took the lock on too few servers, or too late, and has certainly
// released it again. It is not a refusal, since perhaps nobody has the lock.
var errGivenBack = errors.New("given back")

// usualHoldMean is the default mean length of a usual hold.
const usualHoldMean = 5 * time.Millisecond

func (c *lockClient) holdMean() time.Duration { return cmp.Or(c.opts.Hold, usualHoldMean) }

// usualHold draws the length of a usual hold, which ends long before its lease: at most a quarter of the lease.
func (c *lockClient) usualHold(rng *rand.Rand, k *lockKeyState) time.Duration {
	return min(time.Duration(rng.ExpFloat64()*float64(c.holdMean())), k.lease/4)
}

// probes bounds how often the harness tries a lock that is refused after all leases have ended. A lock that is granted
// in the end was not stuck: algorithms may repair a lock while they refuse it.
const probes = 3
