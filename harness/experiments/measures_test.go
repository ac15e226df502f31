package experiments

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// partitioned returns a run of 40 s in which each of 5 clients adds a number every 100 ms. The partition lasts from 2 s
// to 32 s. A Sentinel logs +promoted-slave at 8 s and +switch-master at 8.2 s. lost selects the lost writes.
func partitioned(lost func(client int, at time.Duration) bool) harness.History {
	const s = time.Second
	event := func(at time.Duration, node, kind, detail string) harness.Event {
		return harness.Event{At: at, Node: node, Kind: kind, Detail: detail}
	}
	h := harness.History{
		Meta: harness.Meta{Workers: 5, Clients: 5, Groups: 5},
		Faults: []harness.Fault{{
			Number: 1, Name: "cut", Effects: harness.CutsLinks, Targets: []string{"r1", "r2"},
			Start: 2 * s, Active: 2 * s, Heal: 32 * s, End: 34 * s,
		}},
		Events: []harness.Event{
			event(0, "r1", harness.EventRole, "master"), event(0, "r3", harness.EventRole, "slave"),
			event(7900*time.Millisecond, "r3", harness.EventRole, "master"),
			event(8*s, "s3", "+promoted-slave", "slave 127.7.2.3:6379"),
			event(8200*time.Millisecond, "s3", "+switch-master", "mymaster 127.7.2.1 6379 127.7.2.3 6379"),
		},
	}
	var ops []harness.Op
	there := []string{"9999"} // at least one number has to be read
	for i := range 2000 {
		at := time.Duration(i/5) * 100 * time.Millisecond
		op := harness.Op{
			Client: i % 5, Kind: harness.Add, Key: "set", Arg: fmt.Sprint(i),
			Call: at, Return: at + time.Millisecond, Outcome: harness.OK,
		}
		if !lost(i%5, op.Return) {
			there = append(there, fmt.Sprint(i))
		}
		ops = append(ops, op)
	}
	ops = append(ops, harness.Op{
		Client: harness.HarnessClient, Kind: harness.Read, Key: "set", Result: strings.Join(there, ","),
		Call: 41 * s, Return: 41 * s, Outcome: harness.OK,
	})
	h.Ops = harness.OpsOf(ops)
	return h
}

// TestEveryLostWriteOfJepsensRunIsCounted checks that each lost write is in one of the parts, at any time and by any
// client.
func TestEveryLostWriteOfJepsensRunIsCounted(t *testing.T) {
	for name, lost := range map[string]func(client int, at time.Duration) bool{
		"everything": func(int, time.Duration) bool { return true },
		"as published": func(c int, at time.Duration) bool {
			return at > 2*time.Second && at < 32*time.Second && (at < 8*time.Second || c < 2)
		},
		"the majority, until 9 s": func(c int, at time.Duration) bool { return c >= 2 && at < 9*time.Second },
		"after the heal":          func(_ int, at time.Duration) bool { return at > 33*time.Second },
		"before the cut":          func(_ int, at time.Duration) bool { return at < 2*time.Second },
		"in the moment of turning": func(_ int, at time.Duration) bool {
			return at > 7950*time.Millisecond && at < 8050*time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := measuredOn(t, partitioned(lost))
			sum := 0.0
			for _, part := range []string{
				"lost until the promotion", "lost by 0, 1 in 2 s after it", "lost by 2, 3, 4 in 2 s after it",
				"lost later by 0, 1", "lost later by 2, 3, 4", "lost after the heal",
			} {
				sum += got[part]
			}
			require.NotZero(t, got["lost"])
			require.Equal(t, got["lost"], sum, "%v", got)
		})
	}
}

// TestWhoFollowsLateIsNotSaidToLoseNothing checks that writes are counted that clients of the majority lose for a
// second after the promotion.
func TestWhoFollowsLateIsNotSaidToLoseNothing(t *testing.T) {
	got := measuredOn(t, partitioned(func(c int, at time.Duration) bool {
		return c >= 2 && at > 8*time.Second && at < 9*time.Second
	}))
	require.EqualValues(t, 30, got["lost by 2, 3, 4 in 2 s after it"])
	require.Zero(t, got["lost by 0, 1 in 2 s after it"])
	require.Zero(t, got["lost later by 2, 3, 4"])
}

// measuredOn returns the measures of Jepsen's experiment that need only the history.
func measuredOn(t *testing.T, h harness.History) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	jepsen, err := Find("jepsen-redis-2013")
	require.NoError(t, err)
	for _, m := range jepsen.measures[3:] {
		v, err := m.of(t.Context(), h, harness.Judged{})
		require.NoError(t, err, m.Name)
		got[m.Name] = v
	}
	count := func(_ harness.History, lost []harness.Op) (float64, error) { return float64(len(lost)), nil }
	all, err := ofLost("lost", "", count).of(t.Context(), h, harness.Judged{})
	require.NoError(t, err)
	got["lost"] = all
	return got
}
