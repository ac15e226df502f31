package workloads

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/lua"
)

// This file says what clients do under the explorer: less than under load, and always the same.

// ExploredLease is the default lease of explored clients.
const ExploredLease = 10 * time.Second

// Program returns what the clients of the variant do under the explorer. It returns false for what cannot be explored:
// the family Writes, a lock on several masters, and a library of another language that has no runner (RunBy).
func (v Variant) Program(o Options) (interleave.Program, bool) {
	if v.newQuorum != nil || v.library.File != "" && v.runner == nil {
		return interleave.Program{}, false
	}
	v, _ = v.Waiting(o.Acks)
	o.Name, o.TTL, o.Habits = v.ID, cmp.Or(o.TTL, v.Lease), v.habits
	var p interleave.Program
	switch {
	case v.program != nil:
		p = v.program(o)
	case v.Family == Lock:
		newLocker := v.newLocker
		if v.newExplored != nil {
			newLocker = v.newExplored
		}
		p = LockProgram(o, newLocker)
	case v.Family == Dedup:
		p = DedupProgram(o, v.newDeduper)
	case v.Family == Sequence:
		p = SequenceProgram(o, v.newSequencer)
		if v.inspect != nil {
			p.Observe = v.observe
		}
	default:
		return p, false
	}
	p.Replicas, p.Scripts = v.Acks > 0, v.scripts()
	if p.Retries = v.Retries; p.Retries > 0 {
		p.Hooks = []redis.Hook{tracer{retries: true}}
	}
	p.Symmetric = v.symmetric()
	p.NoBackgroundWork = true
	p.Fenced = v.Fenced()
	return p, true
}

// scripts returns the names of the Lua texts that the variant may run. The map's keys are the texts.
func (v Variant) scripts() map[string]string {
	names := map[string]string{}
	for name, text := range lua.All() {
		names[text] = name
	}
	for name, text := range v.texts {
		names[text] = name
	}
	return names
}

// symmetric reports whether the variant's clients can swap names without any difference. Callers of a sequence cannot,
// since they differ in what they propose.
func (v Variant) symmetric() bool {
	return v.Family != Sequence && !v.ComparesNames
}

// exploredNames lists the names of explored clients. The first is a prefix of the second, differs from the third in
// case only, and is a suffix of the fourth. So a search shows whether an algorithm confuses such names.
var exploredNames = [interleave.MaxPlaces]string{
	"client-1", "client-12", "CLIENT-1", "my-client-1", "client-2", "client-123", "CLIENT-2", "my-client-2",
	"client-3", "client-32", "CLIENT-3", "my-client-3", "client-4", "client-42", "CLIENT-4", "my-client-4",
	"client-5", "client-52", "CLIENT-5",
}

// clientFunc makes a harness.Client of a function.
type clientFunc func(ctx context.Context, s *harness.Session)

func (f clientFunc) Step(ctx context.Context, s *harness.Session) { f(ctx, s) }

// LockProgram lets each client try one lock once. A client that is granted the lock renews it, if the lock can be
// renewed, and releases it. A client that gets no answer on the way releases the lock, whether or not it has the lock,
// and acquires it once more. It does not release this second grant, which ends with its lease, unless goroutines of
// harness.Go might renew the lease for ever.
//
// When all clients are done or crashed, the harness tries the lock if a release or renewal of the lock's owner was
// refused. When every lease has ended, the lock has to be free.
func LockProgram(o Options, newLocker func(redis.UniversalClient) Locker) interleave.Program {
	o.TTL = cmp.Or(o.TTL, ExploredLease)
	const key = exploredLock
	return withClients(interleave.Program{
		Name: cmp.Or(o.Name, "lock"), Lease: o.TTL, Hooks: []redis.Hook{tracer{}},
		Kinds: []harness.Kind{harness.Acquire, harness.Release}, SpecialPlaces: lockHabits(o, newLocker),
		Roles:      lockRoles,
		Goroutines: o.Goroutines,
		Finally: func(ctx context.Context, s *harness.Session, r redis.UniversalClient, after interleave.After) error {
			c := &lockClient{lock: newLocker(r), opts: o}
			if after.OwnerRefused() && c.acquire(ctx, s, key, "harness").Outcome == harness.OK {
				c.release(ctx, s, key, "harness")
			}
			remaining, err := after.PassAll(afterLease(o.TTL))
			if remaining == 0 || err != nil {
				return err // the lock is free, as in the beginning
			}
			for n := range probes { // A refusal may be what repairs the lock, at once or after another lease.
				if n > 0 {
					if err := after.Pass(o.TTL + 2*time.Millisecond); err != nil {
						return err
					}
				}
				if c.acquire(ctx, s, key, "harness").Err != harness.Held {
					break
				}
			}
			return nil
		},
	}, newLocker, func(lock Locker, i int) harness.Client { return exploredLockClient(lock, o, i) })
}

// withClients returns p with the clients that the parameter client makes. Each client uses an algorithm of its own,
// made by newAlgorithm. Clients that are goroutines of one process share one algorithm.
func withClients[A any](p interleave.Program, newAlgorithm func(redis.UniversalClient) A,
	client func(algorithm A, place int) harness.Client) interleave.Program {
	p.Open = func(i int, r redis.UniversalClient) harness.Client { return client(newAlgorithm(r), i) }
	p.Process = func(r redis.UniversalClient) func(int) harness.Client {
		shared := newAlgorithm(r)
		return func(i int) harness.Client { return client(shared, i) }
	}
	return p
}

// afterLease returns the time after which a lease has certainly ended. It is twice the lease, and at least a second
// more than the lease, since an algorithm may round a lease up to seconds.
func afterLease(lease time.Duration) time.Duration { return max(2*lease, lease+time.Second) }

// exploredLock is the name of the lock that explored clients try.
const exploredLock = "lock"

func exploredLockClient(lock Locker, o Options, place int) harness.Client {
	const key = exploredLock
	c, owner := &lockClient{lock: lock, opts: o}, exploredNames[place]
	return clientFunc(func(ctx context.Context, s *harness.Session) {
		switch place {
		case placeTwoNames:
			c.useTwoLocks(ctx, s, key, owner)
			return
		case placeComesBack:
			c.useAfterLease(ctx, s, key, owner)
			return
		case placeRenews:
			c.renewAgain(ctx, s, key, owner)
			return
		}
		if c.attempt(ctx, s, key, owner) {
			return
		}
		// A lease ends by itself, unless a watchdog renews it.
		if c.acquire(ctx, s, key, owner+"-again").Outcome == harness.OK && harness.HasGoroutines(ctx) {
			c.release(ctx, s, key, owner+"-again")
		}
	})
}

// attempt acquires, extends and releases a lock once, as an explored client does. It reports whether each step got an
// answer. A release without an answer is tried again.
func (c *lockClient) attempt(ctx context.Context, s *harness.Session, key, owner string) (answered bool) {
	got := c.acquire(ctx, s, key, owner).Outcome
	if got == harness.Fail {
		return true
	}
	answered = got == harness.OK
	if _, ok := c.lock.(Extender); ok && answered {
		answered = c.extend(ctx, s, key, owner).Outcome != harness.Info
	}
	if c.release(ctx, s, key, owner).Outcome == harness.Info {
		answered = false
		c.release(ctx, s, key, owner)
	}
	return answered
}

// DedupProgram gives one message to every client. A client whose claim got no answer claims once more, as if a queue
// had sent the message again. A client that is told that the message is new delivers it and, for a Confirmer, confirms
// the delivery. When all are done or crashed, the message has to be delivered or free to be claimed again, and its mark
// has to end.
func DedupProgram(o Options, newDeduper func(redis.UniversalClient) Deduper) interleave.Program {
	o.TTL = cmp.Or(o.TTL, 2*ExploredLease)
	o.AtMostOnce = o.AtMostOnce && !slices.Contains(dedupKinds(newDeduper), harness.Confirm)
	const id = exploredMessage
	return withClients(interleave.Program{
		Name: cmp.Or(o.Name, "dedup"), Lease: o.TTL, Hooks: []redis.Hook{tracer{}},
		Kinds: dedupKinds(newDeduper), SpecialPlaces: habits(o.Habits, placeTwoNames, placeComesBack),
		Roles:      dedupRoles,
		Goroutines: o.Goroutines,
		Finally: func(ctx context.Context, s *harness.Session, r redis.UniversalClient, after interleave.After) error {
			c := &dedupClient{filter: newDeduper(r), window: o.TTL}
			ctx = withTokens(ctx, "harness")
			delivered := func(op harness.Op) bool { return op.Key == id && op.Kind == harness.Deliver }
			ops := after.Ops()
			if !slices.ContainsFunc(ops, delivered) && !(o.AtMostOnce && slices.ContainsFunc(ops, mayHaveClaimed)) {
				if err := after.Pass(o.TTL / 2); err != nil { // a claim has ended by then, a mark has not
					return err
				}
				c.claim(ctx, s, id)
			}
			remaining, err := after.PassAll(afterLease(o.TTL))
			if remaining == 0 || err != nil {
				return err // the message is new, as in the beginning
			}
			c.claim(ctx, s, id)
			return nil
		},
	}, newDeduper, func(filter Deduper, i int) harness.Client { return exploredDedupClient(filter, o, i) })
}

// exploredMessage is the name of the message that explored clients get.
const exploredMessage = "msg"

func exploredDedupClient(filter Deduper, o Options, place int) harness.Client {
	const id = exploredMessage
	c := &dedupClient{filter: filter, window: o.TTL}
	return clientFunc(func(ctx context.Context, s *harness.Session) {
		ctx = withTokens(ctx, exploredNames[place])
		switch place {
		case placeTwoNames:
			c.handleTwo(ctx, s, id)
			return
		case placeComesBack:
			c.handleAgain(ctx, s, id)
			return
		}
		got := c.claim(ctx, s, id)
		if got.Outcome == harness.Info {
			got = c.claim(ctx, s, id)
		}
		c.deliverIfNew(ctx, s, got)
	})
}

// mayHaveClaimed reports whether op is a claim that may have marked exploredMessage: it found the message new, or it
// ended in info.
func mayHaveClaimed(op harness.Op) bool {
	return op.Key == exploredMessage && op.Kind == harness.Claim &&
		(op.Outcome == harness.Info || op.Result == harness.ResultFirst)
}

// firstClientDraws is how many numbers the first client draws in a row. With two, another client's delayed SET only
// leads to a number that was drawn before. With three, it may also lead to a number smaller than the one before.
const firstClientDraws = 3

// SequenceProgram lets each client draw one number, and the first client three, whether or not they get an answer.
func SequenceProgram(o Options, newSequencer func(redis.UniversalClient) Sequencer) interleave.Program {
	return withClients(interleave.Program{
		Name: cmp.Or(o.Name, "sequence"), Lease: ExploredLease, Timeless: true, Hooks: []redis.Hook{tracer{}},
		Kinds: []harness.Kind{harness.Next}, SpecialPlaces: habits(o.Habits, placeTwoNames),
		Roles:      sequenceRoles,
		Goroutines: o.Goroutines,
	}, newSequencer, func(generator Sequencer, i int) harness.Client { return exploredSequenceClient(generator, o, i) })
}

func exploredSequenceClient(generator Sequencer, o Options, i int) harness.Client {
	const key = "seq"
	regime := cmp.Or(o.Regime, Fixed)
	c := &sequenceClient{generator: generator}
	calls := 1
	if i == 0 {
		calls = firstClientDraws
	}
	return clientFunc(func(ctx context.Context, s *harness.Session) {
		if i == placeTwoNames {
			c.drawInTurn(ctx, s, key, regime)
			return
		}
		for call := range calls {
			c.next(ctx, s, key, regime.sample(i, call))
		}
	})
}

// observe records, after each draw, what is stored for the sequence that was drawn from.
func (v Variant) observe(ctx context.Context, s *harness.Session, r redis.UniversalClient, op harness.Op) {
	if op.Kind == harness.Next {
		s.Invoke(harness.Op{Kind: harness.Inspect, Key: op.Key}, func(op *harness.Op) { v.inspect(ctx, r, op) })
	}
}

// inspectSequence sets the result of op to the number that is stored for the sequence op.Key, and op.TTL to its
// remaining time. The catalogue's sequences store the number in a key of their own or in a shared hash.
func inspectSequence(ctx context.Context, r redis.UniversalClient, op *harness.Op) {
	key := op.Key
	value, err := r.Get(ctx, key).Result()
	if err == redis.Nil {
		key = sequencesHash
		value, err = r.HGet(ctx, key, op.Key).Result()
	}
	if err != nil && err != redis.Nil {
		op.Err = reason(err)
		return
	}
	ttl, err := r.PTTL(ctx, key).Result()
	if err != nil {
		op.Err = reason(err)
		return
	}
	op.Outcome, op.Result = harness.OK, value
	if ttl > 0 {
		op.TTL = max(time.Minute, ttl.Round(time.Minute)) // rounded, so that it reads the same each time
	}
}
