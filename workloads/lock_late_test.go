package workloads

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// theLock returns the state of one lock that has not been held late yet.
func theLock(lease time.Duration) map[string]*lockKeyState {
	return map[string]*lockKeyState{lockKey(0): {lease: lease, lateHolds: &lateHolds{places: make(chan struct{}, 1)}}}
}

// leaseTime is an operation on a lock and its time, in leases since the latest grant or renewal.
type leaseTime struct {
	harness.Op
	at float64
}

// tenures lets a client use one lock with a lease of a second, without delays, and lists the operations after each
// acquire.
func tenures(lock Locker, steps int) (all [][]leaseTime) {
	timeline := &lockTime{}
	s := timeline.session(0)
	c := &lockClient{lock: lock, opts: Options{TTL: time.Second, Keys: 1}, keys: theLock(time.Second)}
	for range steps {
		c.Step(context.Background(), s)
	}
	var lease harness.Op
	for _, op := range timeline.ops {
		if op.Kind == harness.Acquire {
			all, lease = append(all, nil), op
			continue
		}
		last := len(all) - 1
		all[last] = append(all[last], leaseTime{op, (op.Call - lease.Call).Seconds()})
		if op.Kind == harness.Extend && op.Outcome == harness.OK {
			lease = op
		}
	}
	return all
}

// A few of a lock's holds end late, or with the lease. They take two thirds of the time in which the lock is held.
func TestLocksAreReleasedInTimeAtTheEndAndLate(t *testing.T) {
	var usual, atEnd, late int
	var all, heldLate float64
	for _, after := range tenures(unextended, 5000) {
		require.Len(t, after, 1)
		at := after[0].at
		if all += at; at > 0.5 {
			heldLate += at
		}
		switch {
		case at <= 0.25:
			usual++
		case at > 1.04 && at <= 1.5:
			late++
		default:
			require.InDelta(t, 1, at, 1e-6)
			atEnd++
		}
	}
	require.Greater(t, usual, 4000)
	require.Greater(t, atEnd, 10)
	require.Greater(t, late, 10)
	require.InDelta(t, 0.67, heldLate/all, 0.1)
}

// unextended is a lock that grants everything and has no Extend.
var unextended = struct{ Locker }{obliging{}}

func TestLeasesAreExtendedInTimeAtTheEndAndLate(t *testing.T) {
	var inTime, before, after, late, lateRelease int
	for _, ops := range tenures(obliging{}, 20_000) {
		for _, op := range ops {
			switch extend := op.Kind == harness.Extend; {
			case !extend && op.at > 1.02:
				lateRelease++
			case !extend:
			case op.at < 0.34:
				inTime++
			case op.at > 0.993 && op.at < 1:
				before++
			case op.at >= 1 && op.at < 1.001:
				after++
			default:
				require.Greater(t, op.at, 1.019)
				late++
			}
		}
	}
	for name, n := range map[string]int{"in time": inTime, "before the end": before, "after the end": after,
		"late": late, "released late": lateRelease} {
		require.Greater(t, n, 10, name)
	}
}

// In a load that is shorter than its leases, one hold in eight is renewed, half way.
func TestUsualHoldsAreRenewedHalfWay(t *testing.T) {
	timeline := &lockTime{}
	s := timeline.session(0)
	c := &lockClient{lock: obliging{}, opts: Options{TTL: time.Hour, Keys: 1}, keys: theLock(time.Hour)}
	c.keys[lockKey(0)].lateDue = time.Hour / 4
	for range 800 {
		c.Step(t.Context(), s)
	}
	require.Less(t, timeline.now, time.Hour/4, "no lease was near its end")
	renewed := 0
	for i, op := range timeline.ops {
		if op.Kind == harness.Extend {
			renewed++
			granted, released := timeline.ops[i-1], timeline.ops[i+1]
			require.Equal(t, harness.OK, op.Outcome)
			require.InDelta(t, float64(granted.Return+released.Call)/2, float64(op.Call), 2, "half way")
		}
	}
	require.InDelta(t, 800/renewsOneIn, renewed, 40)
}

func TestAWatchdogThatFindsTheLockLostGivesUp(t *testing.T) {
	extended := 0
	for _, after := range tenures(obliging{lost: true}, 5000) {
		if len(after) == 1 {
			continue
		}
		extended++
		most := 2
		if after[0].at > 1.01 { // the lease had certainly ended: the lock has a holder part of the time
			most = lateExtends + 1
		}
		require.Len(t, after, most, "extends that were refused, and a release")
		require.Equal(t, harness.Release, after[most-1].Kind)
		end := after[most-2].at
		if end < 0.3 { // a usual hold, renewed half way
			end *= 2
		}
		require.InDelta(t, end, after[most-1].at, 3e-9, "halving may lose a nanosecond")
	}
	require.Greater(t, extended, 10)
}

// Within two seconds a lock with a lease of one second is held for longer than its lease.
func TestLocksAreSoonHeldLate(t *testing.T) {
	for _, lock := range []Locker{unextended, obliging{}} {
		w := Locks(nil, Options{Keys: 1, TTL: time.Second}, nil).(*locks)
		timeline := &lockTime{}
		c := &lockClient{lock: lock, opts: w.opts, keys: w.keys}
		for s := timeline.session(0); timeline.now < 2*time.Second; {
			c.Step(t.Context(), s)
		}
		require.True(t, slices.ContainsFunc(timeline.ops, func(op harness.Op) bool {
			return op.Kind != harness.Acquire && op.Call > timeline.ops[0].Call+time.Second && op.Call < 2*time.Second
		}))
		require.Greater(t, timeline.count(harness.Acquire), 10, "and before that not")
	}
}

func TestHalfOfTheLocksAreHeldLateAtATime(t *testing.T) {
	w := Locks(nil, Options{Keys: 5, TTL: time.Second}, nil).(*locks)
	late := func(now time.Duration) (keys []int) {
		for i := range 5 {
			if w.keys[lockKey(i)].beginLate(now) {
				keys = append(keys, i)
			}
		}
		return keys
	}
	require.Empty(t, late(0))
	require.Equal(t, []int{0, 1, 2}, late(time.Second))
	require.Empty(t, late(time.Second))
	w.keys[lockKey(1)].endLate(time.Second, 0)
	require.Equal(t, []int{3}, late(time.Second), "one in the place of another")
	require.Equal(t, []int{0, 2, 3}, late(time.Hour),
		"owners that have crashed leave their places to the next of their lock")
}

func TestNoDefaultLeaseIsAWholeNumberOfSeconds(t *testing.T) {
	for keys, want := range map[int][]time.Duration{
		1: {longestLease}, 2: {longestLease, shortLease},
		6: {longestLease, shortLease, shortestLease, shortLease, longestLease, shortLease},
	} {
		w := Locks(nil, Options{Keys: keys}, nil).(*locks)
		for i, lease := range want {
			require.Equal(t, lease, w.keys[lockKey(i)].lease)
			require.NotZero(t, lease%time.Second)
		}
	}
	w := Locks(nil, Options{Keys: 3, TTL: time.Second}, nil).(*locks)
	for i := range 3 {
		require.Equal(t, time.Second, w.keys[lockKey(i)].lease, "asked for")
	}
}

func TestNamesAreLikeTheOwnersAndNeverTheSame(t *testing.T) {
	const owner = "client-1-2-" + nameTail
	seen := map[string]bool{owner: true}
	var longer, shorter, endsAlike, otherCase, otherLetter int
	for _, of := range []string{owner, owner + ".1", owner[:len(owner)-1], owner[:len(owner)-1-len(nameTail)],
		nameLike(owner, 4)} {
		for n := 1; n <= 200; n++ {
			name := nameLike(of, n)
			if of != owner {
				require.Greater(t, len(name), len(of))
			}
			require.NotEqual(t, "client-1-20-"+nameTail, name)
			switch {
			case of == owner && strings.EqualFold(name, owner):
				otherCase++
			case of == owner && strings.HasSuffix(name, owner):
				endsAlike++
			case of == owner && len(name) == len(owner):
				otherLetter++
			case of == owner && strings.HasPrefix(owner, name):
				shorter++
				require.GreaterOrEqual(t, len(name), len("client-1-2"), "another attempt of the same client")
			case strings.HasPrefix(name, of):
				longer++
			}
			if of == owner || name != owner+".1" {
				require.False(t, seen[name], name)
			}
			seen[name] = true
		}
	}
	require.Equal(t, 1+len(nameTail), shorter)
	require.Equal(t, 9, otherLetter)
	require.Equal(t, 31, otherCase)
	require.Equal(t, 40, endsAlike)
	require.Greater(t, longer, 100)
}

// held is a Locker that refuses everybody until a moment, and notes the names that asked.
type held struct {
	Locker
	until    time.Duration
	timeline *lockTime
	names    *[]string
}

func (h held) Acquire(_ context.Context, _, owner string, _ time.Duration) (bool, error) {
	*h.names = append(*h.names, owner)
	h.timeline.now += 200 * time.Microsecond
	return h.timeline.now >= h.until, nil
}

func TestClientsWaitForTheEndOfALease(t *testing.T) {
	const end = 10 * time.Millisecond
	for name, tc := range map[string]struct {
		now, until time.Duration
		waits, got bool
	}{
		"near":           {5 * time.Millisecond, end, true, true},
		"too far":        {time.Millisecond, end, false, false},
		"over":           {end + 1, end + 9*time.Millisecond, false, false},
		"lasts for long": {5 * time.Millisecond, time.Hour, true, false},
	} {
		timeline, names := &lockTime{now: tc.now}, []string{}
		keys := theLock(time.Second)
		k := keys[lockKey(0)]
		k.lateDue = time.Hour
		k.watch("client-7-7-owner", end)
		lock := held{Locker: obliging{}, until: tc.until, timeline: timeline, names: &names}
		c := &lockClient{lock: lock, opts: Options{Keys: 1, TTL: time.Second}, keys: keys}
		s := timeline.session(0)
		c.Step(t.Context(), s)
		require.Equal(t, tc.waits, len(names) > 1, name)
		require.Equal(t, tc.got, timeline.count(harness.Release) == 1, name)
		require.LessOrEqual(t, len(names), 1+ambushTries, name)
		require.Zero(t, k.waiting, name)
		if tc.waits {
			require.InDelta(t, end, timeline.ops[1].Call, float64(lastInstant), name)
		}
	}
}

func TestOnlyAFewWaitForOneEnd(t *testing.T) {
	k := &lockKeyState{lease: time.Second}
	k.watch("a", time.Millisecond)
	var all sync.WaitGroup
	for range 10 * ambushClients {
		all.Go(func() { k.joinAmbush(0) })
	}
	all.Wait()
	require.Equal(t, ambushClients, k.waiting)
	_, ok := k.joinAmbush(0)
	require.False(t, ok)
	k.leaveAmbush()
	_, ok = k.joinAmbush(0)
	require.True(t, ok)
}
