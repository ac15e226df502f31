package analysis

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
)

func TestLossesBelongToTheFailoverInWhichTheyCameAbout(t *testing.T) {
	all := Failovers(crashAfterPromotion())
	lost := func(at time.Duration, n int) harness.Finding {
		return harness.Finding{Class: harness.LostWrite, At: at, Count: n}
	}
	twice := func(at time.Duration, n int) harness.Finding {
		return harness.Finding{Class: harness.DoubleGrant, At: at, Count: n}
	}
	found := []harness.Finding{
		lost(9*sec, 1),  // before the first promotion
		lost(11*sec, 5), // by r1, while r3 was a primary as well
		twice(12*sec, 2),
		twice(18410*ms, 3),
		lost(18500*ms, 7), // after both
		{Class: harness.StuckLock, At: 12 * sec, Count: 100},
	}
	both := []harness.Class{harness.DoubleGrant, harness.LostWrite, harness.StuckLock}
	AssignLosses(all, found, both)
	require.Equal(t, Losses{harness.LostWrite: 6, harness.DoubleGrant: 2}, all[0].Losses)
	require.Equal(t, Losses{harness.LostWrite: 7, harness.DoubleGrant: 3}, all[1].Losses)
	require.Contains(t, all[0].String(), "; 2 double-grant; 6 lost-write")
	AssignLosses(nil, found, both)
	AssignLosses(all, nil, both[:1])
	require.Equal(t, Losses{harness.DoubleGrant: 0}, all[0].Losses, "nobody looked for lost writes")
}

// TestAFailoverTakesNoLossesOfLaterOnes cuts r1 off during the first failover. r1 comes back as a replica only after
// the second.
func TestAFailoverTakesNoLossesOfLaterOnes(t *testing.T) {
	gone := func(e harness.Event) bool {
		return e.Kind == harness.EventServesWrites || e.Node == "r1" && e.At >= 10*sec && e.At < 30*sec
	}
	h := without(analysistest.OneKill(), gone)
	h.Events = append(h.Events, analysistest.Role(0, "r3", "slave"), follows(ms, "r3", at1))
	h.Events = append(h.Events, without(harness.History{Events: slices.Concat(
		analysistest.FailoverEvents(20*sec, "r2", "r3", 2, 3), analysistest.FailoverEvents(40*sec, "r3", "r1", 3, 1),
	)}, gone).Events...)
	h.Events = append(h.Events, serves(sec, "r1", 0), serves(sec, "r1", 1), serves(11700*ms, "r2", 0))
	h.Events = append(h.Events, analysistest.Role(25*sec, "r1", "slave"), follows(25*sec, "r1", at3))
	h.Ops = harness.OpsOf([]harness.Op{
		analysistest.Add(1, 12*sec, harness.OK), analysistest.Add(1, 13*sec, harness.OK),
		analysistest.Add(1, 14*sec, harness.OK),
	})
	all := Failovers(h)
	require.Len(t, all, 3)
	require.Equal(t, []int64{3, 0, 0}, []int64{all[0].MinorityWrites, all[1].MinorityWrites, all[2].MinorityWrites})
	for at, want := range map[time.Duration]int{9 * sec: 0, 14 * sec: 0, 24 * sec: 0, 26 * sec: 2, 40 * sec: 2} {
		AssignLosses(all, []harness.Finding{{Class: harness.LostWrite, At: at, Count: 1}},
			[]harness.Class{harness.LostWrite})
		for i, f := range all {
			require.Equal(t, i == want, f.Losses[harness.LostWrite] == 1, "lost at %v, failover %d", at, i)
		}
	}
}

// TestADoubleGrantJustAfterAPromotionIsOfThatFailover has findings whose times are rounded down to 10 ms, so that they
// seem to come before the promotion.
func TestADoubleGrantJustAfterAPromotionIsOfThatFailover(t *testing.T) {
	all := []Failover{{Promoted: 11470 * ms}, {Promoted: 21477 * ms}, {Promoted: 31477 * ms}}
	for at, want := range map[time.Duration]int{
		3 * sec: 0, 11480 * ms: 0, 21400 * ms: 0, 21450 * ms: 1, 21470 * ms: 1, 31400 * ms: 1, 31470 * ms: 2,
		99 * sec: 2,
	} {
		AssignLosses(all, []harness.Finding{{Class: harness.DoubleGrant, At: at, Count: 1}},
			[]harness.Class{harness.DoubleGrant})
		for i, f := range all {
			require.Equal(t, i == want, f.Losses[harness.DoubleGrant] == 1, "at %v, failover %d", at, i)
		}
	}
}
