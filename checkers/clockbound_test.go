package checkers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestClocksThatAreKnownTooLittleMakeARunUnknown(t *testing.T) {
	const lease = 80 * time.Millisecond
	of := func(bounds ...string) harness.Judgement {
		h := of(
			acquire(0, "a", 1, 2, lease), acquire(1, "b", 1, 3, 4*lease),
			harness.Op{Client: 0, Kind: harness.Claim, Key: "m", TTL: time.Nanosecond, Call: 4, Return: 5, Outcome: harness.Fail},
		)
		for _, b := range bounds {
			h.Events = append(h.Events, harness.Event{Kind: harness.EventClockBound, Node: "generator 1", Detail: b})
		}
		g, _ := judge(t, Gates(), h)
		return g
	}
	const doubt = "the clocks of the generators were known to within"
	require.NotContains(t, of().Reason, doubt)
	require.NotContains(t, of("1ms", "20ms", "3ms").Reason, doubt)
	require.Contains(t, of("1ms", "20.1ms", "3ms").Reason, doubt+" 20.1ms only, and the shortest lease or window is 80ms")
	value, err := harness.Judged{Judgements: []harness.Judgement{of("1ms", "20ms")}}.Figure(figureClockBound)
	require.NoError(t, err)
	require.InDelta(t, 20, value, 0)
}
