package checkers

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// situationsIn counts what the operations met, by name.
func situationsIn(drift float64, ops ...harness.Op) map[harness.SituationName]int {
	h := of(ops...)
	h.Meta.Drift = drift
	c := NewSituations(h.Meta)
	for op := range h.Ops {
		c.Op(op)
	}
	met := map[harness.SituationName]int{}
	for _, s := range c.List() {
		if s.Count > 0 {
			met[s.Name] = s.Count
		}
	}
	return met
}

type counts = map[harness.SituationName]int

func TestSituations(t *testing.T) {
	type ops = []harness.Op
	a, b := acquire(0, "a", 0, 2, 100), acquire(1, "b", 110, 112, 100) // b is granted it after the lease of a
	released := release(0, "a", 120, 121)
	late := counts{harness.ReleaseAfterLease: 1, harness.LeaseEndedInside: 1}
	after := counts{harness.ReleaseAfterLease: 1, harness.LeaseEndedInside: 1, harness.TakenAfterLease: 1}
	for _, tc := range []struct {
		name string
		ops  ops
		want counts
	}{
		{"a lock in time", ops{a, release(0, "a", 50, 51)}, counts{}},
		{"released when the lease may be over", ops{a, release(0, "a", 102, 103)}, counts{}},
		{"released after it", ops{a, release(0, "a", 103, 104)}, late},
		{"released in its last instant", ops{a, release(0, "a", 90, 95)}, counts{harness.ReleaseInLastInstant: 1}},
		{"just before that", ops{a, release(0, "a", 90, 94)}, counts{}},
		{"released without a lease", ops{withTTL(0, a), release(0, "a", 900, 940)}, counts{}},
		{"released twice", ops{a, release(0, "a", 103, 104), release(0, "a", 105, 106)}, late},
		{"released late, another has it", ops{a, b, released},
			counts{harness.ReleaseAfterLease: 1, harness.LeaseEndedInside: 1, harness.LateReleaseMeets: 1,
				harness.TakenAfterLease: 1}},
		{"released late, another had it", ops{a, b, release(1, "b", 115, 116), released}, after},
		{"released late, another's lease is over as well", ops{a, withTTL(10, b), release(0, "a", 121, 122)}, after},
		{"released late, another's lease can be over from that instant on", ops{a, withTTL(10, b), released},
			counts{harness.ReleaseAfterLease: 1, harness.LeaseEndedInside: 1, harness.LateReleaseMeets: 1,
				harness.TakenAfterLease: 1}},
		{"released late, another is granted it at that instant", ops{a, acquire(1, "b", 110, 121, 100), released},
			counts{harness.ReleaseAfterLease: 1, harness.LeaseEndedInside: 1, harness.LateReleaseMeets: 1,
				harness.TakenAfterLease: 1}},
		{"extended in time", ops{a, extend(0, "a", 50, 51, 100), extend(0, "a", 120, 121, 100)},
			counts{harness.ExtendInLease: 2}},
		{"extended at the end, and the lease counts anew",
			ops{a, extend(0, "a", 99, 101, 100), release(0, "a", 195, 196)},
			counts{harness.ExtendInLastInstant: 1, harness.ReleaseInLastInstant: 1}},
		{"extended late, and refused", ops{a, b, fail(extend(0, "a", 120, 121, 100)), release(0, "a", 122, 123)},
			counts{harness.ExtendAfterLease: 1, harness.LateExtendMeets: 1, harness.LeaseEndedInside: 1,
				harness.TakenAfterLease: 1, harness.ReleaseAfterLease: 1, harness.LateReleaseMeets: 1}},
		{"extended by who never had it", ops{extend(0, "a", 50, 51, 100)}, counts{}},
		{"asked for in the last instant", ops{a, fail(acquire(1, "b", 94, 95, 100)), fail(acquire(1, "c", 10, 94, 100)),
			fail(acquire(1, "d", 102, 103, 100))},
			counts{harness.AskedInLastInstant: 1}},
		{"two ask at once, one gets it", ops{a, fail(acquire(1, "b", 2, 3, 100))}, counts{harness.AcquiresAtOnce: 1}},
		{"two ask at once, the later answer is the grant", ops{fail(a), acquire(1, "b", 2, 3, 100)},
			counts{harness.AcquiresAtOnce: 1}},
		{"two ask at once, none gets it", ops{fail(a), fail(acquire(1, "b", 1, 3, 100))}, counts{}},
		{"a lock and a message of one name", ops{acquire(0, "a", 1, 2, 0), on("k", claim(1, 1, 4, 0))}, counts{}},
		{"one worker asks for one lock at once",
			ops{acquire(0, "a", 1, 2, 0), acquire(0, "b", 2, 4, 0), acquire(3, "c", 4, 5, 0)}, counts{}},
		{"a rival meets the first of two", ops{acquire(1, "b", 1, 2, 0), acquire(0, "a", 1, 3, 0),
			acquire(0, "c", 3, 4, 0), acquire(0, "d", 4, 5, 0)},
			counts{harness.AcquiresAtOnce: 1}},
		{"two meet one after the other", ops{acquire(1, "b", 1, 8, 0), acquire(0, "a", 8, 9, 0),
			acquire(2, "c", 7, 10, 0)},
			counts{harness.AcquiresAtOnce: 2}},
		{"one meets another twice in an instant",
			ops{acquire(1, "b", 1, 2, 0), acquire(0, "a", 2, 2, 0), acquire(0, "c", 2, 3, 0)},
			counts{harness.AcquiresAtOnce: 2}},
		{"many locks", ops{acquire(0, "a", 1, 2, 0), on("i", acquire(2, "x", 3, 4, 0)),
			on("j", acquire(2, "y", 5, 6, 0)), on("l", acquire(2, "z", 7, 8, 0)),
			fail(acquire(1, "b", 2, 9, 0))}, counts{harness.AcquiresAtOnce: 1}},
		{"names", ops{acquire(0, "client-1", 0, 2, 100), fail(acquire(1, "client-12", 3, 4, 100)),
			fail(acquire(1, "client", 5, 6, 100)), fail(acquire(1, "client-2", 7, 8, 100))},
			counts{harness.NameBeginsAnother: 2}},
		{"a name that begins its successor's", ops{a, acquire(1, "ab", 110, 112, 100), released},
			counts{harness.NameBeginsAnother: 2, harness.ReleaseAfterLease: 1, harness.LeaseEndedInside: 1,
				harness.LateReleaseMeets: 1, harness.TakenAfterLease: 1}},
		{"another lock", ops{a, on("j", acquire(1, "ab", 1, 12, 100)), on("j", released)}, counts{}},
		{"the harness", ops{a, byHarness(acquire(1, "ab", 1, 12, 100))}, counts{}},
		{"retried", ops{info(a), fail(acquire(3, "b", 3, 4, 100)), fail(acquire(3, "c", 5, 6, 100))},
			counts{harness.RetryAfterUnknown: 1}},
		{"retried by another", ops{info(a), fail(acquire(1, "b", 3, 4, 100))}, counts{}},
		{"ages", ops{
			claim(0, 0, 2, 100),
			seen(claim(1, 2, 32, 100)),                              // not certainly after the first
			seen(claim(1, 3, 32, 100)), seen(claim(1, 33, 34, 100)), // early, later
			seen(claim(1, 90, 94, 100)), seen(claim(1, 90, 95, 100)), // later, at the end
			seen(claim(1, 98, 99, 100)), seen(claim(1, 99, 100, 100)), // at the end, in doubt
			seen(claim(1, 102, 103, 100)), seen(claim(1, 103, 104, 100)), // in doubt, after
			info(claim(2, 50, 51, 100)),
		}, counts{harness.ClaimsAtOnce: 1, harness.AskedAgainEarly: 1, harness.AskedAgainLater: 2,
			harness.AskedAgainAtEnd: 2, harness.AskedAgainAfter: 1}},
		{"after a third of its window", ops{claim(0, 0, 2, 100), seen(claim(1, 3, 33, 100))},
			counts{harness.AskedAgainLater: 1}},
		{"an age counts from the last mark",
			ops{claim(0, 0, 2, 100), claim(0, 150, 152, 100), seen(claim(1, 160, 161, 100))},
			counts{harness.AskedAgainAfter: 1, harness.AskedAgainEarly: 1}},
		{"a mark for ever", ops{claim(0, 0, 2, 0), seen(claim(1, 900, 901, 0))}, counts{}},
		{"confirmed late, and marked for longer",
			ops{claim(0, 0, 2, 10), confirm(0, 13, 14, 100), seen(claim(1, 109, 110, 10))},
			counts{harness.ConfirmAfterTime: 1, harness.AskedAgainAtEnd: 1}},
		{"confirmed in time", ops{claim(0, 0, 2, 10), confirm(0, 12, 14, 100)}, counts{}},
		{"nobody is first", ops{seen(claim(0, 0, 2, 10)), seen(claim(1, 0, 2, 10))}, counts{}},
		{"draws at once", ops{next(0, 0, 2, "1"), next(1, 1, 3, "2"), fail(next(1, 4, 6, "")), fail(next(0, 4, 6, ""))},
			counts{harness.DrawsAtOnce: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, situationsIn(0, tc.ops...)) })
	}
}

// TakenAtLeaseEnd counts a lock that is taken in the millisecond in which another owner's lease ends. Redis may have
// ended the lease too early by up to a millisecond.
func TestALockTakenAtALeasesEnd(t *testing.T) {
	const lease = 10 * time.Millisecond
	a := acquire(0, "a", 0, 2, lease)
	for at, want := range map[time.Duration]int{lease - 1: 0, lease: 1, lease + time.Millisecond - 1: 1,
		lease + time.Millisecond: 0} {
		b := acquire(1, "b", lease-2, at, lease)
		require.Equal(t, want, situationsIn(0, a, b)[harness.TakenAtLeaseEnd], at)
		require.Zero(t, situationsIn(0.01, a, b)[harness.TakenAtLeaseEnd], "where clocks may be wrong it tells nothing")
	}
	least := situationsIn(0, acquire(0, "a", 0, 2, time.Millisecond), acquire(1, "b", 3, time.Millisecond, lease))
	require.Equal(t, 1, least[harness.TakenAtLeaseEnd], "a lease of a millisecond")
}

func TestSituationsMindDrift(t *testing.T) {
	require.Equal(t, counts{harness.ReleaseInLastInstant: 1},
		situationsIn(0.5, acquire(0, "a", 0, 2, 100), release(0, "a", 151, 152)))
	require.Equal(t, counts{harness.ReleaseAfterLease: 1, harness.LeaseEndedInside: 1},
		situationsIn(0.5, acquire(0, "a", 0, 2, 100), release(0, "a", 153, 154)))
}

func TestSituationsHaveAnExampleAndNameWhatWasNeverMet(t *testing.T) {
	c := NewSituations(harness.Meta{Workers: testWorkers, Kinds: []harness.Kind{harness.Acquire, harness.Release}})
	first, late := acquire(0, "a", 0, 2, 10), release(0, "a", 20, 21)
	c.Op(first)
	c.Op(late)
	all := map[harness.SituationName]harness.Situation{}
	for _, s := range c.List() {
		all[s.Name] = s
	}
	require.Equal(t, []harness.Op{first, late}, all[harness.ReleaseAfterLease].Example)
	require.Contains(t, all, harness.LateReleaseMeets)
	require.Zero(t, all[harness.LateReleaseMeets].Count)
	require.NotContains(t, all, harness.ExtendAfterLease, "nobody promised or tried to extend")
	require.NotContains(t, all, harness.AskedAgainAfter)
	c.Op(extend(0, "a", 30, 31, 10))
	require.Len(t, c.List(), len(all)+4)
	require.Empty(t, NewSituations(harness.Meta{}).List())
}

func TestOfVeryManyMessagesASampleIsWatched(t *testing.T) {
	var few sampledMarks
	for i := range marksKept {
		few.put(on(strconv.Itoa(i), claim(0, time.Duration(i), time.Duration(i), 1+time.Duration(i)/8)))
	}
	require.Len(t, few.marks, marksKept, "there is room, so nothing is forgotten")
	sampled := func(window time.Duration) (s sampledMarks) {
		for i := range 10 * marksKept {
			at := time.Duration(i)
			s.put(on(fmt.Sprint("msg-", i), claim(0, at, at, window)))
			require.LessOrEqual(t, len(s.marks), marksKept)
		}
		return s
	}
	s := sampled(100 * marksKept)
	require.Greater(t, len(s.marks), marksKept/8)
	old := 0
	for i := range marksKept {
		if _, ok := s.lastMark(fmt.Sprint("msg-", i)); ok {
			old++
		}
	}
	require.Greater(t, old, marksKept/100, "some of the first")
	require.Zero(t, sampled(marksKept/4).mask, "windows that are over need no room")
}

// Operations of one generator count as contention if they overlap. Operations of two generators never count: they may
// overlap only because their times were widened.
func TestWideningMakesNobodyMeet(t *testing.T) {
	const wide, lease = 6, time.Second
	met := func(first, second int, between time.Duration) harness.Judgement {
		h := of(acquire(first, "a", 100-wide, 101, lease), acquire(second, "b", 101+between-wide, 102+between, lease))
		h.Meta.Workers, h.Meta.Clients, h.Meta.Generators, h.Meta.Widened = 4, 4, 2, true
		h.Meta.Kinds = []harness.Kind{harness.Acquire}
		h.Events = []harness.Event{{Kind: harness.EventClockBound, Detail: "6ns"}}
		g, _ := judge(t, Gates(), h)
		return g
	}
	require.Contains(t, met(0, 1, 1).Reason, "no contention", "one after the other, in one generator")
	require.NotContains(t, met(0, 1, 0).Reason, "no contention", "at one instant")
	require.Contains(t, met(0, 2, 0).Reason, "no contention", "in two generators nobody knows")
	require.Contains(t, met(0, 1, 0).Reason, "no operation of generator 2 was ok")
	require.NotContains(t, met(0, 2, 0).Reason, "was ok")
}

// Situations of several generators are added up, with an example from one that met them.
func TestSituationsOfGeneratorsAreAddedUp(t *testing.T) {
	late := func(client int, at time.Duration) []harness.Op {
		key := fmt.Sprint(client)
		return []harness.Op{on(key, acquire(client, "a", at, at+1, 10)), on(key, release(client, "a", at+20, at+21))}
	}
	for _, c := range []struct {
		ops  []harness.Op
		want int
		idle []string
	}{
		{late(0, 0), 1, []string{"no operation of generator 2 was ok"}},
		{late(2, 0), 1, []string{"no operation of generator 1 was ok"}},
		{append(late(0, 0), append(late(2, 0), late(3, 50)...)...), 3, nil},
	} {
		h := of(append(c.ops, fail(acquire(0, "b", 90, 91, 10)), fail(acquire(2, "b", 90, 91, 10)))...)
		h.Meta.Workers, h.Meta.Generators = 4, 2
		s := newSituationsOfShares(h)
		for op := range h.Ops {
			s.Op(op)
		}
		names := map[harness.SituationName]int{}
		for _, met := range s.List() {
			names[met.Name]++
			if met.Name == harness.ReleaseAfterLease {
				require.Equal(t, c.want, met.Count)
				require.Len(t, met.Example, 2)
			}
		}
		require.Equal(t, 1, names[harness.ReleaseAfterLease])
		require.Equal(t, c.idle, s.idleShares())
		for name, n := range names {
			require.Equal(t, 1, n, name)
		}
	}
}
