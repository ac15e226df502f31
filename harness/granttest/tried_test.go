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
		{Kind: harness.Acquire, Outcome: harness.OK, Result: "7"}, {Kind: harness.Acquire, Outcome: harness.Fail},
		{Kind: harness.Acquire},
		{Kind: harness.Release, Outcome: harness.OK},
		{Kind: harness.Claim, Outcome: harness.OK, Result: harness.ResultSeen},
	})
	asked := &operations{}
	of := tally{asked}
	require.Empty(t, asked.of)
	said := of.Check(context.Background(), harness.History{Ops: ops}, nil)
	require.Equal(t, harness.Valid, said.Verdict)
	require.Empty(t, asked.of, "a schedule under way is not counted")
	of.Check(context.Background(), harness.History{Ops: ops, End: &harness.End{}}, nil)
	require.Equal(t, "Acquire 3 (1 yes, 1 no, 1 without an answer), Fence 1, Release 1 (1 yes, 0 no), First 1 (0 "+
		"yes, 1 no); not asked: Extend",
		asked.describe(lockKind, reflect.TypeFor[fullLock]()))
	require.Contains(t, asked.describe(lockKind, reflect.TypeFor[bareLock]()), "; it has no Extend")
	require.NotContains(t, asked.describe(lockKind, reflect.TypeFor[Locker]()), "it has",
		"nobody knows what an interface holds")
}

// The log names situations that no schedule met, and that the load met seldom.
func TestWhatTheLoadAloneCoversIsNamed(t *testing.T) {
	met := []harness.Situation{
		{Name: harness.AcquiresAtOnce, Count: 7}, {Name: harness.TakenAfterLease, Count: 3},
		{Name: harness.ReleaseAfterLease, Count: 100},
		{Name: harness.LateReleaseMeets}, {Name: harness.RetryAfterUnknown, Count: 2},
	}
	s := subject{searched: covered{}}
	s.searched.add([]harness.Situation{{Name: harness.AcquiresAtOnce, Count: 50}, {Name: harness.TakenAfterLease},
		{Name: harness.LateReleaseMeets, Count: 4}})
	s.searched.add([]harness.Situation{{Name: harness.AcquiresAtOnce}}) // of another program
	require.Equal(t, "\n  situations that only the load met, and no schedule of the search: lock taken after "+
		"another's lease "+
		"(3); retry after unknown (2). "+
		"Load{Thorough: true} continues until each has occurred 100 times, except those that come by "+
		"chance", s.onlyLoad(met))
	s.load.Thorough = true
	require.NotContains(t, s.onlyLoad(met), "Thorough")
	s.load.Thorough = false
	require.NotContains(t, s.onlyLoad(met[4:]), "Thorough", "it comes by chance")
	s.searched.add([]harness.Situation{{Name: harness.TakenAfterLease, Count: 1},
		{Name: harness.RetryAfterUnknown, Count: 1}})
	require.Empty(t, s.onlyLoad(met))
}
