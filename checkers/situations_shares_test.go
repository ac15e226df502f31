package checkers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// TestWideningMakesNobodyMeet: operations of two generators meet by their widened times only, those of one by their own.
func TestWideningMakesNobodyMeet(t *testing.T) {
	const wide, lease = 6, time.Second
	met := func(first, second int, between time.Duration) harness.Judgement {
		h := of(acquire(first, "a", 100-wide, 101, lease), acquire(second, "b", 101+between-wide, 102+between, lease))
		h.Meta.Workers, h.Meta.Clients, h.Meta.Generators, h.Meta.Widened, h.Meta.Kinds = 4, 4, 2, true, []harness.Kind{harness.Acquire}
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
