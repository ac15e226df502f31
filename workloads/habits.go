package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file has the clients that Habits adds to a search. They use their lock, filter or generator more than once, as a
// long-lived process does. The search has a separate part for each of them, in which it is the last client.

const (
	placeRenews = interleave.MaxClients + iota // number of the client that renews its lease again and again
	// number of the client that uses two names at once, such as two locks
	placeTwoNames
	placeComesBack // number of the client that comes back after its lease or window
)

// habits returns the given numbers of clients if the options ask for Habits, and none otherwise.
func habits(asked bool, places ...int) []int {
	if !asked {
		return nil
	}
	return places
}

// What reports say about the clients that use a name more than once, by the client's number.
var (
	lockRoles = map[int]string{placeRenews: "renews its lease again and again", placeTwoNames: "uses two locks",
		placeComesBack: "comes back after its lease"}
	dedupRoles    = map[int]string{placeTwoNames: "handles two messages", placeComesBack: "comes back after the window"}
	sequenceRoles = map[int]string{placeTwoNames: "draws from two sequences"}
)

// lockHabits returns the numbers of clients that use a lock more than once. One of them renews its lease again and
// again, if the lock can be renewed.
func lockHabits(o Options, newLocker func(redis.UniversalClient) Locker) []int {
	places := habits(o.Habits, placeTwoNames, placeComesBack)
	if o.Habits {
		if _, extends := newLocker(nil).(Extender); extends {
			places = append(places, placeRenews)
		}
	}
	return places
}

// otherName returns the second name of a lock, message or sequence for a client that uses two. It begins with the first
// name, and no other client uses it.
func otherName(name string) string { return name + "-2" }

// IsOtherName reports whether the name is that of the second lock or message that one client of a search uses. No other
// client uses it.
func IsOtherName(name string) bool {
	return name == otherName(exploredLock) || name == otherName(exploredMessage)
}

// useTwoLocks takes a lock that no other client uses, then the lock that all clients try. It releases both in the same
// order. Then it tries the common lock once more.
func (c *lockClient) useTwoLocks(ctx context.Context, s *harness.Session, key, owner string) {
	names, granted := []string{otherName(key), key}, [2]bool{}
	for i, name := range names {
		granted[i] = c.acquire(ctx, s, name, owner+"-"+name).Outcome != harness.Fail
	}
	for i, name := range names {
		if granted[i] {
			c.release(ctx, s, name, owner+"-"+name)
		}
	}
	c.attempt(ctx, s, key, owner)
}

// useAfterLease takes a lock and does nothing until long after its lease. Then it takes the lock again under a second
// token. Only after that it renews and releases the lock under the first token.
func (c *lockClient) useAfterLease(ctx context.Context, s *harness.Session, key, owner string) {
	first, second := owner+"-first", owner+"-second"
	if c.acquire(ctx, s, key, first).Outcome == harness.Fail || harness.Sleep(ctx, afterLease(c.opts.TTL)) != nil {
		return
	}
	again := c.acquire(ctx, s, key, second).Outcome
	if _, extends := c.lock.(Extender); extends {
		c.extend(ctx, s, key, first)
	}
	c.release(ctx, s, key, first)
	if again != harness.Fail {
		c.release(ctx, s, key, second)
	}
}

// renewAfter lists how long the client waits before each renewal, as parts of the lease. The first renewal comes late
// in the lease, and the second soon after the first. The third comes in the first half of the renewed lease.
var renewAfter = [...]float64{0.65, 0.1, 0.35}

// renewAgain takes a lock, renews its lease several times, and releases it.
func (c *lockClient) renewAgain(ctx context.Context, s *harness.Session, key, owner string) {
	if c.acquire(ctx, s, key, owner).Outcome != harness.OK {
		return
	}
	for _, part := range renewAfter {
		pause := time.Duration(part * float64(c.opts.TTL))
		if harness.Sleep(ctx, pause) != nil || c.extend(ctx, s, key, owner).Outcome != harness.OK {
			break
		}
	}
	c.release(ctx, s, key, owner)
}

// handleTwo claims a message that no other client gets, then the message that all clients get. Only after both claims
// it delivers the messages that are new.
func (c *dedupClient) handleTwo(ctx context.Context, s *harness.Session, id string) {
	other := otherName(id)
	claims := []harness.Op{c.claim(ctx, s, other), c.claim(ctx, s, id)}
	for _, got := range claims {
		c.deliverIfNew(ctx, s, got)
	}
}

// handleAgain claims a message twice, and once more long after its window.
func (c *dedupClient) handleAgain(ctx context.Context, s *harness.Session, id string) {
	for _, pause := range []time.Duration{0, 0, afterLease(c.window)} {
		if harness.Sleep(ctx, pause) != nil {
			return
		}
		c.deliverIfNew(ctx, s, c.claim(ctx, s, id))
	}
}

// deliverIfNew delivers and confirms the message of a claim, if the claim's answer was that the message is new.
func (c *dedupClient) deliverIfNew(ctx context.Context, s *harness.Session, claim harness.Op) {
	// Delivery takes time, in which a worker may crash.
	if claim.Outcome == harness.OK && claim.Result == harness.ResultFirst && s.Sleep(time.Millisecond) {
		c.deliver(s, claim.Key)
		c.confirm(ctx, s, claim.Key)
	}
}

// drawInTurn draws from two sequences alternately.
func (c *sequenceClient) drawInTurn(ctx context.Context, s *harness.Session, key string, regime Regime) {
	for call := range 4 {
		name := key
		if call%2 == 0 {
			name = otherName(key)
		}
		c.next(ctx, s, name, regime.sample(1, call))
	}
}
