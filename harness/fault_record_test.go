package harness_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// faultLog is a store that keeps every record of a fault in order of arrival.
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

func (l *faultLog) last() harness.Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.records[len(l.records)-1]
}

// TestAFaultIsOnRecordFromItsFirstMomentOn reads the record during the injection, the proof and the heal. Each time it
// has what is known of the fault by then, as it should if the run is killed.
func TestAFaultIsOnRecordFromItsFirstMomentOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faultLog{Store: harness.NewMemory()}
		s := spec(&fake{}, &counter{})
		s.Store, s.QuietPeriod = store, 5*time.Millisecond
		var atInject, atProve, atHeal harness.Fault
		s.Faults = []harness.TimedFault{{For: 10 * time.Millisecond,
			Nemesis: declared{strike{"drill", func(context.Context, *rand.Rand) (harness.Injection, error) {
				atInject = store.last()
				return harness.Injection{
					Targets: []string{"r1"}, Bite: "bitten",
					Prove: func(context.Context) (string, error) { atProve = store.last(); return "seen", nil },
					Heal:  func(context.Context) error { atHeal = store.last(); return nil },
				}, nil
			}}}}}
		res := ran(t, s)

		require.Len(t, res.History.Faults, 1, "the records are of one fault")
		end := res.History.Faults[0]
		require.True(t, 0 < end.Start && end.Start < end.Active+1 && end.Active < end.Heal && end.Heal < end.End+1,
			"%+v", end)
		want := harness.Fault{Name: "drill", Effects: harness.StopsProcess, Number: 1, Start: end.Start,
			Proof: "its injection did not end"}
		require.Equal(t, want, atInject)
		require.Equal(t, harness.Forever, atInject.InForceUntil())
		want.Targets, want.Active, want.Proof = []string{"r1"}, end.Active, "bitten; then nobody looked any further"
		require.Equal(t, want, atProve)
		want.Proved, want.Proof, want.Heal = true, "bitten; seen", end.Heal
		require.Equal(t, want, atHeal)
	})
}

// declared is a nemesis that declares its effects.
type declared struct{ strike }

func (declared) Effects() harness.Effects { return harness.StopsProcess }

func TestLaterRecordsOfAFaultTakeThePlaceOfEarlierOnes(t *testing.T) {
	var faults []harness.Fault
	for _, f := range []harness.Fault{
		{Number: 1, Name: "a", Start: 1}, {Number: 2, Name: "b", Start: 2}, {Number: 1, Name: "a", Start: 1, Heal: 5},
		{Name: "old", Start: 3}, {Name: "old", Start: 3}, // from an older program: each is a separate fault
	} {
		faults = harness.WithFault(faults, f)
	}
	require.Equal(t, []harness.Fault{
		{Number: 1, Name: "a", Start: 1, Heal: 5}, {Number: 2, Name: "b", Start: 2}, {Name: "old", Start: 3},
		{Name: "old", Start: 3},
	}, faults)
}
