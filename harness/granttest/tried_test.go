package granttest

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestWhatWasTriedIsCounted(t *testing.T) {
	ops := harness.OpsOf([]harness.Op{
		{Kind: harness.Acquire, Outcome: harness.OK, Result: "7"}, {Kind: harness.Acquire, Outcome: harness.Fail}, {Kind: harness.Acquire},
		{Kind: harness.Release, Outcome: harness.OK}, {Kind: harness.Claim, Outcome: harness.OK, Result: harness.ResultSeen},
	})
	asked := &operations{}
	of := tally{asked}
	require.Empty(t, asked.of)
	said := of.Check(context.Background(), harness.History{Ops: ops}, nil)
	require.Equal(t, harness.Valid, said.Verdict)
	require.Empty(t, asked.of, "a schedule under way is not counted")
	of.Check(context.Background(), harness.History{Ops: ops, End: &harness.End{}}, nil)
	require.Equal(t, "Acquire 3 (1 yes, 1 no, 1 without an answer), Fence 1, Release 1 (1 yes, 0 no), First 1 (0 yes, 1 no); not asked: Extend",
		asked.describe(lockKind, reflect.TypeFor[fullLock]()))
	require.Contains(t, asked.describe(lockKind, reflect.TypeFor[bareLock]()), "; it has no Extend")
	require.NotContains(t, asked.describe(lockKind, reflect.TypeFor[Locker]()), "it has", "nobody knows what an interface holds")
}
