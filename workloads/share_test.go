package workloads

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func shares(n int) (all []Share) {
	for i := range n {
		all = append(all, Share{Number: i, Of: n, Ahead: func() time.Duration { return 0 }})
	}
	return all
}

func TestEveryNumberIsSomeGenerators(t *testing.T) {
	for n := 1; n <= 4; n++ {
		var numbers []int64
		places := 0
		for _, s := range shares(n) {
			places += s.part(7)
			for k := range int64(100) {
				numbers = append(numbers, s.nth(k))
			}
		}
		require.Equal(t, 7, places, "as many as one process has")
		slices.Sort(numbers)
		require.Len(t, slices.Compact(numbers), 100*n, "each once")
		for i := range 9 {
			has := 0
			for _, s := range shares(n) {
				if s.has(i) {
					has++
				}
			}
			require.Equal(t, 1, has)
		}
	}
	require.Equal(t, 7, Share{}.part(7))
	require.Equal(t, int64(5), Share{}.nth(5))
	require.True(t, Share{}.has(3))
}

// The same message comes to every generator at one time on the run's clock, whatever their own clocks show.
func TestTheSameMessageComesToEveryGenerator(t *testing.T) {
	slow := Share{Of: 2, Rate: 4000, Clients: 100, Ahead: func() time.Duration { return 3 * time.Second }}
	fast := Share{Number: 1, Of: 2, Rate: 4000, Clients: 100, Ahead: func() time.Duration { return -time.Second }}
	for at := 5 * time.Second; at < 6*time.Second; at += 777 * time.Microsecond {
		require.Equal(t, slow.message(at-3*time.Second, 8), fast.message(at+time.Second, 8))
	}
	require.Equal(t, int64(4000/8), slow.message(-2*time.Second, 8))
	few := Share{Of: 2, Rate: 60000, Clients: 4, Ahead: slow.Ahead}
	require.Equal(t, int64(4*maxClientRate/8), few.message(-2*time.Second, 8), "four clients cannot do 60,000 a second")
	require.Equal(t, int64(assumedRate/8), Share{Of: 2, Ahead: slow.Ahead}.message(-2*time.Second, 8))
}

// Each lock is held late by one generator only. All generators together hold as many locks late as one process would.
func TestALockIsHeldLateByOneGenerator(t *testing.T) {
	late, most := map[string]int{}, 0
	for _, s := range shares(3) {
		l := Locks(nil, Options{Keys: 5, Share: s}, nil).(*locks)
		for key, k := range l.keys {
			if k.lateDue < math.MaxInt64 {
				late[key]++
			}
		}
		most += cap(l.keys[Options{}.key(0)].lateHolds.places)
	}
	require.Len(t, late, 5)
	for key, n := range late {
		require.Equal(t, 1, n, key)
	}
	require.Equal(t, 3, most)
}

// At the end a filter is also asked for messages that clients of other generators claimed.
func TestAFilterIsAskedForWhatOthersClaimed(t *testing.T) {
	d := Dedups(nil, Options{Prefix: "p:"}, nil).(*dedups)
	op := func(kind harness.Kind, number int64, result string, outcome harness.Outcome) {
		d.Observe(harness.Op{Kind: kind, Key: d.message(number), Result: result, Outcome: outcome,
			Call: time.Duration(number) * time.Second})
	}
	op(harness.Claim, 0, harness.ResultFirst, harness.OK)
	op(harness.Deliver, 0, "", harness.OK)
	op(harness.Claim, 2, harness.ResultFirst, harness.OK)
	op(harness.Claim, 5, "", harness.Info)
	op(harness.Claim, 5, harness.ResultSeen, harness.OK)
	op(harness.Claim, 1, harness.ResultSeen, harness.OK)
	d.Observe(harness.Op{Kind: harness.Add, Key: "writes"})
	require.Equal(t, []int64{2, 5}, d.claimed.latest(10), "those that nobody delivered")
	require.Equal(t, []int64{0, 1, 2, 3, 4, 5}, d.messagesToAsk(5*time.Second))
	require.Equal(t, 5*time.Second, d.received.timeOf(5))
}
