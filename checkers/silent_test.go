package checkers

import (
	"strconv"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// Each grant beside a silent owner waits for that owner's next operation. All grants for which there is room are decided then. The
// rest is not judged.
func TestManyGrantsBesideASilentOwner(t *testing.T) {
	for _, more := range []int{0, 5} {
		ops, end := []harness.Op{acquire(0, "a", 0, 1, 0)}, time.Duration(10)
		for i := range maxUndecided + more {
			ops = append(ops, acquire(1+i%2, "t", end, end+1, time.Second), release(1+i%2, "t", end+3, end+4))
			end += 10
		}
		_, found := judge(t, Mutex(), of(ops...))
		require.Len(t, found, maxUndecided, "it never gave the lock up")
		_, found = judge(t, Mutex(), of(append(ops, release(0, "a", end, end))...))
		require.Len(t, found, maxUndecided, "it gave the lock up in the end")
		g, found := judge(t, Mutex(), of(append(ops, release(0, "a", 2, end))...))
		require.Empty(t, found, "it may have given the lock up before all others")
		if more == 0 {
			require.Equal(t, harness.Valid, g.Verdict, g.Reason)
			continue
		}
		require.Equal(t, harness.Unknown, g.Verdict)
		require.Contains(t, g.Reason, "5 grants were not judged")
	}
}

// Each client speaks once, and the next one is granted its lock before its lease is over.
func oneAfterTheOther(i int, t time.Duration) harness.Op {
	return acquire(i, strconv.Itoa(i), t, t, 15*time.Microsecond)
}

// Any of them may yet say that it had given up before, but no more are waited for than there is room for.
func TestMoreSilentOwnersThanThereIsRoomFor(t *testing.T) {
	p := &mutexPass{tally: newTally(of(), func(harness.Anomaly) {}), held: map[int]*possessions{}, locks: map[string]*lock{}}
	p.meta.Workers = 0 // each client is a worker
	for i := range maxUndecided + 1000 {
		p.op(oneAfterTheOther(i, time.Duration(i)*10*time.Microsecond))
	}
	require.Len(t, p.locks["k"].undecided, maxUndecided)
	require.LessOrEqual(t, len(p.locks["k"].open), maxUndecided+3, "one more than overlaps in their chain, and two inside their lease")
	require.Equal(t, 999, p.unjudged, "the first one had nobody before it")
	require.Empty(t, p.end(true))
	require.Equal(t, maxUndecided, p.counts[harness.DoubleGrant])
}
