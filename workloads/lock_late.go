package workloads

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file has what owners do when they hold a lock to the end of its lease and beyond. An application does so when it
// is paused for too long. Each lock is held late for about half of the time, and at most half of the locks at one time.
// The ways to do so take turns:
//
//	release late      after the lease, when another owner may have the lock
//	release at end    in the lease's last instant, where the lease may end between the commands of the release
//	extend late       after the lease, again and again; if one is granted, a release some time later
//	extend at end     in the lease's last instant, before and after its end
//	extend in time    every third of the lease, as a watchdog does, which is then paused or not

const (
	longestLease  = 1337 * time.Millisecond // the longest default lease; not a whole number of seconds
	shortLease    = 350 * time.Millisecond
	shortestLease = 77 * time.Millisecond // for a lock whose lease ends often in a load
)

// leaseOf returns the default lease of lock i in a load with the given number of locks.
func leaseOf(i, locks int) time.Duration {
	switch {
	case i%5 == 2 && locks > 2:
		return shortestLease
	case i%2 == 1:
		return shortLease
	}
	return longestLease
}

// lockKeyState holds what the clients of a load share about a lock. A late hold lasts to its lease's end or beyond.
type lockKeyState struct {
	lease     time.Duration
	lateHolds *lateHolds // bounds the late holds of all locks

	mu      sync.Mutex
	turn    int           // number of the next late hold, by which its lateWay is chosen
	turned  bool          // the field turn has its first value
	lateDue time.Duration // when the next late hold may begin, or the deadline of the current one
	late    bool          // a late hold is under way
	watched watchedLease
	names   int // number of names made from the name of the watched owner
	waiting int // number of clients that wait for the end of the watched lease
}

// lateWay is a way to hold a lock too long.
type lateWay int

const (
	releaseLate lateWay = iota
	releaseAtEnd
	extendLate
	extendAtEnd
	extendInTime
)

// lateTurns lists the ways of late holds, in the order of their use, for a lock that cannot be renewed.
// lateExtenderTurns is for one that can.
var (
	lateTurns         = []lateWay{releaseLate, releaseAtEnd}
	lateExtenderTurns = []lateWay{extendLate, extendAtEnd, releaseLate, extendAtEnd, extendInTime, extendAtEnd,
		releaseAtEnd, extendLate, extendAtEnd}
)

// beginLate decides whether the hold that begins now is a late one: to the end of its lease or beyond. It returns false
// if no late hold is due, or if enough locks are held late already.
func (k *lockKeyState) beginLate(now time.Duration) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now < k.lateDue || !k.late && !k.lateHolds.begin() {
		return false
	}
	k.late, k.lateDue = true, now+8*k.lease // an owner that is not back by then has crashed
	return true
}

// endLate ends a late hold now. Only usual holds follow for half a lease, or for ten times their mean length if that is
// longer.
func (k *lockKeyState) endLate(now, mean time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lateDue = now + max(k.lease/2, 10*min(mean, k.lease/4))
	k.watched = watchedLease{}
	if k.late {
		k.late = false
		<-k.lateHolds.places
	}
}

// lateHolds bounds how many locks are held late at the same time: to the end of their lease or beyond. So there are
// always other locks to race for.
type lateHolds struct {
	places  chan struct{} // has an element for each lock that is held late
	started atomic.Int64  // number of locks that were held late at least once
}

// takeFirstWay returns the number of the way in which a lock's late holds begin: 0 for the first lock that is held
// late, 1 for the second, and so on. So a load tries several ways even if each lock is held late only once.
func (l *lateHolds) takeFirstWay() int {
	return int(l.started.Add(1) - 1)
}

// begin takes a place for a late hold. It returns false if no place is free.
func (l *lateHolds) begin() bool {
	select {
	case l.places <- struct{}{}:
		return true
	default:
		return false
	}
}

// nextWay returns how to hold the lock late this time.
func (k *lockKeyState) nextWay(extender bool) lateWay {
	k.mu.Lock()
	defer k.mu.Unlock()
	turns := lateTurns
	if extender {
		turns = lateExtenderTurns
	}
	if !k.turned {
		k.turn, k.turned = k.lateHolds.takeFirstWay(), true
	}
	k.turn++
	return turns[(k.turn-1)%len(turns)]
}

// holdLate keeps a lock to the end of its lease or beyond. The operation granted is the acquire that took it.
func (c *lockClient) holdLate(ctx context.Context, s *harness.Session, k *lockKeyState, granted harness.Op) {
	_, extender := c.lock.(Extender)
	end := granted.Call + k.lease
	k.watch(granted.Arg, end)
	switch k.nextWay(extender) {
	case releaseLate:
		s.Sleep(end + drawPart(s.Rand, k.lease, 0.05, 0.5) - s.Now())
	case releaseAtEnd:
		s.Sleep(end - drawPart(s.Rand, granted.Return-granted.Call, 0, 3) - s.Now())
	case extendLate:
		c.extendLate(ctx, s, k, granted, end)
	case extendAtEnd:
		c.extendAtEnds(ctx, s, k, granted)
	case extendInTime:
		c.watchdog(ctx, s, k, granted)
	}
}

// lastInstant is the length of a lease's last instant. It is longer than a millisecond, in which Redis counts.
const lastInstant = 1500 * time.Microsecond

// aroundEnd draws when to renew a lease, relative to the lease's end; negative: before the end. Half of the times are
// up to 6 ms before the end, since timers may be late by that much. The other half is close to the end on either side.
// The parameter trip is how long a request takes.
func aroundEnd(rng *rand.Rand, trip time.Duration) time.Duration {
	if rng.IntN(2) == 0 {
		return -drawPart(rng, lastInstant, 0, 4)
	}
	return drawPart(rng, lastInstant+trip, 0, 1.4) - lastInstant
}

// drawPart draws a duration between from*d and to*d.
func drawPart(rng *rand.Rand, d time.Duration, from, to float64) time.Duration {
	return time.Duration((from + (to-from)*rng.Float64()) * float64(d))
}

// lateExtends bounds how often an owner tries to renew a lease after its end. The owner tries more than once, since a
// faulty lock may grant such a renewal in one state only: while the lock is free, or while another owner has it.
const lateExtends = 4

// extendLate tries to renew a lease after its end. It stops at the first renewal that is not refused, or after
// lateExtends renewals. If a renewal is granted, the owner keeps the lock for a part of the lease.
func (c *lockClient) extendLate(
	ctx context.Context, s *harness.Session, k *lockKeyState, got harness.Op, end time.Duration,
) {
	at := end
	for range lateExtends {
		at += drawPart(s.Rand, k.lease, 0.02, 0.2)
		x, ok := c.renew(ctx, s, k, got, at)
		if ok {
			s.Sleep(drawPart(s.Rand, k.lease, 0.1, 0.5))
		}
		if x.Outcome != harness.Fail {
			return
		}
	}
}

// extendAtEnds renews the lease around its end and, if leases are short enough, around the next ends as well. The owner
// keeps the lock for a part of the last lease.
func (c *lockClient) extendAtEnds(ctx context.Context, s *harness.Session, k *lockKeyState, granted harness.Op) {
	times, lease := 1, granted
	if k.lease <= shortestLease {
		times = 4
	}
	for range times {
		x, ok := c.renew(ctx, s, k, granted, lease.Call+k.lease+aroundEnd(s.Rand, lease.Return-lease.Call))
		if !ok {
			return
		}
		lease = x
	}
	s.Sleep(drawPart(s.Rand, k.lease, 0.1, 0.5))
}

// renew renews the lease at the given time. It returns false if the renewal was not granted, or if the load ended
// first.
func (c *lockClient) renew(
	ctx context.Context, s *harness.Session, k *lockKeyState, got harness.Op, at time.Duration,
) (x harness.Op, ok bool) {
	if !s.Sleep(at - s.Now()) {
		return x, false
	}
	x = c.extend(ctx, s, got.Key, got.Arg)
	if x.Outcome == harness.OK {
		k.renewed(got.Arg, x.Call+k.lease)
	}
	return x, x.Outcome == harness.OK
}

// watchdog renews the lease one to four times, each time after a third of it. Then it pauses for up to 1.2 leases, so
// that the release comes in time or too late.
func (c *lockClient) watchdog(ctx context.Context, s *harness.Session, k *lockKeyState, granted harness.Op) {
	for range 1 + s.Rand.IntN(4) {
		if !s.Sleep(k.lease / 3) {
			return
		}
		x := c.extend(ctx, s, granted.Key, granted.Arg)
		if x.Outcome != harness.OK {
			return // the lock may no longer be the owner's, so it is released
		}
		k.renewed(granted.Arg, x.Call+k.lease)
	}
	s.Sleep(drawPart(s.Rand, k.lease, 0.1, 1.2))
}
