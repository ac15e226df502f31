package checkers

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// lastingHold returns operations from the time at on: an owner keeps a lock beyond its lease while another one asks for
// it. They meet every situation of a lock that cannot be extended.
func lastingHold(i int, at time.Duration) []harness.Op {
	token := func(who string) string { return fmt.Sprintf("%s%d", who, i) }
	return []harness.Op{
		acquire(0, token("a"), at, at+2, 100), fail(acquire(1, token("b"), at+1, at+3, 100)), // at once
		fail(acquire(1, token("b"), at+97, at+98, 100)), // in the last instant
		// taken after the lease; a late release
		acquire(1, token("c"), at+110, at+112, 100), release(0, token("a"), at+115, at+116),
		release(1, token("c"), at+208, at+209), // in the last instant
	}
}

// A load is done when each situation has occurred often enough. Until then the situations that are lacking are named.
func TestALoadGoesOnUntilAllHasOccurred(t *testing.T) {
	h := of()
	h.Meta.Kinds = []harness.Kind{harness.Acquire, harness.Release, harness.Add}
	for i := range 3 {
		h.Ops = of(append(opsIn(h), lastingHold(i, time.Duration(1000*i))...)...).Ops
	}
	watched := func(count int, kinds ...harness.Kind) (times int, lacking string) {
		q := &quota{count: count, onEnough: func() { times++ }}
		h.Meta.Kinds = append(h.Meta.Kinds, kinds...)
		q.Check(t.Context(), h, func(harness.Anomaly) { t.Error("it finds nothing") })
		return times, q.Lacking()
	}
	times, lacking := watched(3)
	require.Equal(t, 1, times, "told once")
	require.Empty(t, lacking)
	early := &quota{count: 3, minDuration: time.Hour,
		onEnough: func() { t.Error("it has lasted for too short a time") }}
	early.Check(t.Context(), h, func(harness.Anomaly) {})
	require.Empty(t, early.Lacking())
	// from the first answer, at 2, to the last, at 2209
	for least, want := range map[time.Duration]int{2207: 1, 2208: 0} {
		enough := 0
		exact := &quota{count: 3, minDuration: least, onEnough: func() { enough++ }}
		exact.Check(t.Context(), h, func(harness.Anomaly) {})
		require.Equal(t, want, enough, least)
	}
	fromTheStart := h
	fromTheStart.Ops = of(append([]harness.Op{fail(acquire(0, "first", 0, 0, 1))}, opsIn(h)...)...).Ops
	for least, want := range map[time.Duration]int{2209: 1, 2210: 0} {
		enough := 0
		exact := &quota{count: 3, minDuration: least, onEnough: func() { enough++ }}
		exact.Check(t.Context(), fromTheStart, func(harness.Anomaly) {})
		require.Equal(t, want, enough, least)
	}
	times, lacking = watched(4)
	require.Zero(t, times)
	require.Contains(t, lacking, "not every situation had occurred 4 times: two acquires pending at once (3), ")
	require.NotContains(t, lacking, string(harness.RetryAfterUnknown))
	_, lacking = watched(1, harness.Extend)
	require.Contains(t, lacking, "extend after the lease (0)")
	require.NotContains(t, lacking, string(harness.LeaseEndedInside))
	require.Equal(t, "nobody counted the situations to the end", Quota(func() {}).Lacking())
}
