package harness_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// faultLog is a store that keeps every record of a fault as it came.
type faultLog struct {
	harness.Store
	mu      sync.Mutex
	records []harness.Fault
}

func (l *faultLog) WriteFault(f harness.Fault) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, f)
	return l.Store.WriteFault(f)
}

func (l *faultLog) last() (f harness.Fault, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.records) == 0 {
		return f, 0
	}
	return l.records[len(l.records)-1], len(l.records)
}

// TestAFaultIsOnRecordFromItsFirstMomentOn looks at the record from inside of the injection, the proof and the heal: whoever
// kills the run there finds the fault with what was known by then.
func TestAFaultIsOnRecordFromItsFirstMomentOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faultLog{Store: harness.NewMemory()}
		s := spec(&fake{}, &counter{})
		s.Store, s.QuietPeriod = store, 5*time.Millisecond
		var atInject, atProve, atHeal harness.Fault
		s.Faults = []harness.TimedFault{{For: 10 * time.Millisecond, Nemesis: declared{strike{"drill", func(context.Context, *rand.Rand) (harness.Injection, error) {
			atInject, _ = store.last()
			return harness.Injection{
				Targets: []string{"r1"}, Bite: "bitten",
				Prove: func(context.Context) (string, error) { atProve, _ = store.last(); return "seen", nil },
				Heal:  func(context.Context) error { atHeal, _ = store.last(); return nil },
			}, nil
		}}}}}
		res, err := harness.Run(t.Context(), s)
		require.NoError(t, err)

		require.Equal(t, "drill", atInject.Name)
		require.Equal(t, harness.StopsProcess, atInject.Effects)
		require.Equal(t, 1, atInject.Number)
		require.Positive(t, atInject.Start)
		require.Zero(t, atInject.Active)
		require.Equal(t, harness.Forever, atInject.Until())
		require.Equal(t, []string{"r1"}, atProve.Targets)
		require.Positive(t, atProve.Active)
		require.False(t, atProve.Proved)
		require.Positive(t, atHeal.Heal)
		require.Zero(t, atHeal.End)
		require.Equal(t, "bitten; seen", atHeal.Proof)
		require.Len(t, res.History.Faults, 1, "the records are of one fault")
		require.Positive(t, res.History.Faults[0].End)
	})
}

// declared is a strike that says what it does.
type declared struct{ strike }

func (declared) Effects() harness.Effects { return harness.StopsProcess }

func TestAFaultThatNeverBeganLeavesNoRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faultLog{Store: harness.NewMemory()}
		ctx, stop := context.WithCancel(t.Context())
		s := spec(&fake{}, &counter{})
		s.Store = store
		s.Faults = []harness.TimedFault{{After: time.Millisecond, Nemesis: strike{"first", func(context.Context, *rand.Rand) (harness.Injection, error) {
			stop()
			return harness.Injection{}, errors.New("interrupted")
		}}}, {Nemesis: strike{"second", func(context.Context, *rand.Rand) (harness.Injection, error) {
			return harness.Injection{}, errors.New("it must not begin")
		}}}}
		_, err := harness.Run(ctx, s)
		require.NoError(t, err)
		for _, f := range store.records {
			require.Equal(t, "first", f.Name)
		}
	})
}

func TestLaterRecordsOfAFaultTakeThePlaceOfEarlierOnes(t *testing.T) {
	var faults []harness.Fault
	for _, f := range []harness.Fault{
		{Number: 1, Name: "a", Start: 1}, {Number: 2, Name: "b", Start: 2}, {Number: 1, Name: "a", Start: 1, Heal: 5},
		{Name: "old", Start: 3}, {Name: "old", Start: 3}, // of an older program: each is a fault
	} {
		faults = harness.WithFault(faults, f)
	}
	require.Equal(t, []harness.Fault{
		{Number: 1, Name: "a", Start: 1, Heal: 5}, {Number: 2, Name: "b", Start: 2}, {Name: "old", Start: 3}, {Name: "old", Start: 3},
	}, faults)
}

func TestDownIsWhatStaysDown(t *testing.T) {
	f := harness.Fault{Name: "x", Targets: []string{"r1"}, Effects: harness.EndsProcess}
	require.True(t, f.Down("r1"))
	require.False(t, f.Down("r2"))
	f.Effects |= harness.StartsProcess
	require.False(t, f.Down("r1"), "another process has taken its place")
	require.False(t, harness.Fault{Name: "client-kill", Targets: []string{"r1"}, Effects: harness.EndsConnections}.Down("r1"))
}
