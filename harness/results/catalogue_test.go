package results

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

// sampled picks the searches of this run: every fourth one of all, or in a deep run all.
func sampled(all []plan.Search) (picked []plan.Search) {
	for i, s := range all {
		if testenv.Sampled(i, 4) {
			picked = append(picked, s)
		}
	}
	return picked
}

// boundedBy bounds the time of one search; most take milliseconds, and none takes half of it on a machine that is not
// busy.
const boundedBy = 5 * time.Minute

// large lists the variants whose searches with three clients take most of the time. They have two clients, and three in
// a deep run.
var large = []string{
	"dedup/lock-get-set", "lib/redislock-retries", "lock/getset-deadline", "lock/redisson", "lock/set-nx-px-wait",
	"lock/watch-multi",
}

// isForeign reports whether a variant is a library of another language, whose searches take long.
func isForeign(t *testing.T, id string) bool {
	v, err := workloads.Find(id)
	require.NoError(t, err)
	_, foreign := v.Library()
	return foreign
}

// TestAClaimHolds is a quick sample of TestLongEveryDeclaredFlawIsFoundAndEveryClaimHolds. Transcripts of harness/cli
// have others.
func TestAClaimHolds(t *testing.T) {
	requireMet(t, plan.Search{Variant: "dedup/claim-confirm", Bounds: interleave.Bounds{Clients: 2}, For: boundedBy})
}

// requireMet demands that a search comes to its end and shows what it should.
func requireMet(t *testing.T, s plan.Search) SearchOutcome {
	t.Helper()
	out := explored(t, s)
	require.True(t, out.Exploration.Result.Exhausted, out.Exploration.Sentence())
	require.True(t, out.Exploration.Met, "expected %s, found: %s", out.Exploration.Expected, out.Exploration.Sentence())
	return out
}

// TestLongEveryDeclaredFlawIsFoundAndEveryClaimHolds goes through every interleaving of three clients, one crash and
// one expiry. Some variants are searched with less: see large, isForeign, and the Explored fields of workloads.Variant.
func TestLongEveryDeclaredFlawIsFoundAndEveryClaimHolds(t *testing.T) {
	testenv.NeedLong(t)
	for _, s := range sampled((plan.Search{For: boundedBy}).Catalogue()) {
		if (slices.Contains(large, s.Variant) || isForeign(t, s.Variant)) && !testenv.Deep() {
			s.Clients = 2
		}
		t.Run(strings.TrimSuffix(s.Variant+"/"+s.Regime, "/"), func(t *testing.T) {
			requireMet(t, s)
		})
	}
}

// TestLongNoVariantSurvivesTheLossOfWhatItWasToldWasWritten promotes a replica that lacks acknowledged writes, at every
// point of a schedule.
func TestLongNoVariantSurvivesTheLossOfWhatItWasToldWasWritten(t *testing.T) {
	testenv.NeedLong(t)
	for _, s := range sampled((plan.Search{Bounds: interleave.Bounds{Clients: 2, Crashes: -1, Expiries: -1, Failovers: 1,
		LostAnswers: -1}, For: boundedBy}).Catalogue()) {
		if s.Regime != "" && s.Regime != string(workloads.Fixed) {
			continue // a failover does not depend on proposals
		}
		some := isForeign(t, s.Variant) && !testenv.Deep()
		if some {
			s.MaxSchedules = 300
		}
		t.Run(s.Variant, func(t *testing.T) {
			out := explored(t, s)
			if !some {
				require.True(t, out.Exploration.Result.Exhausted, out.Exploration.Sentence())
			}
			require.True(t, out.Exploration.Met, "expected %s, found: %s", out.Exploration.Expected,
				out.Exploration.Sentence())
			require.NotEmpty(t, out.Exploration.Result.Counterexamples)
		})
	}
}

// TestLeasesEndOnAHeldReplicaAsWell checks that a lock whose lease was over before a promotion does not come back with
// it.
func TestLeasesEndOnAHeldReplicaAsWell(t *testing.T) {
	requireMet(t, plan.Search{Variant: "lock/set-nx-px",
		Bounds: interleave.Bounds{Clients: 2, Crashes: -1, Failovers: 1}, For: boundedBy})
}

// TestAFastClockBreaksALockThatReadsClocks searches the one variant whose clients compare deadlines with their clocks.
func TestAFastClockBreaksALockThatReadsClocks(t *testing.T) {
	s := plan.Search{Variant: "lock/getset-deadline", Bounds: interleave.Bounds{Clients: 2, Crashes: -1, Expiries: -1},
		Skew: time.Minute, For: boundedBy}
	out := explored(t, s)
	require.Equal(t, []harness.Class{harness.DoubleGrant, harness.RefusedRelease, harness.StuckLock},
		out.Expectation.Must)
	require.True(t, out.Exploration.Met, out.Exploration.Sentence())
	s.Skew, s.LostAnswers = 0, -1
	require.Empty(t, explored(t, s).Exploration.Result.Counterexamples)
}

// TestLongScriptFlushesBreakNothing checks that every script is sent again when Redis does not know it.
func TestLongScriptFlushesBreakNothing(t *testing.T) {
	testenv.NeedLong(t)
	for _, id := range []string{"lock/set-nx-px", "lock/lua-owner", "lock/fenced", "lib/redislock",
		"dedup/claim-confirm", "sequence/digits-compare"} {
		t.Run(id, func(t *testing.T) {
			out := explored(t, plan.Search{Variant: id, Bounds: interleave.Bounds{Clients: 2, Crashes: -1, Flushes: 2},
				For: boundedBy})
			require.Equal(t, harness.Valid, out.Exploration.Verdict(), out.Exploration.Sentence())
		})
	}
}

// TestTheSmallestCounterexamples checks the counterexamples that documents show. A search is exhaustive, so they do not
// change.
func TestTheSmallestCounterexamples(t *testing.T) {
	for variant, want := range map[string][]string{
		"dedup/get-set": {"lost-message 6", "duplicate-delivery 7: client 1 GET msg, client 2 GET msg, client 1 SET " +
			"msg 1, client 1 EXPIRE msg 20, " +
			"client 1 deliver msg, client 2 SET msg 1, client 2 EXPIRE msg 20", "immortal-mark 7"},
		"lock/setnx": {"stuck-lock 5: client 1 SET lock client-1 nx, client 1 crashes, client 2 SET lock client-12 nx, " +
			"client 3 SET lock CLIENT-1 nx, acquire lock"},
		"lock/setnx-expire":           {"stuck-lock 5", "double-grant 9", "stolen-release 9"},
		"lock/setnx-expire-truncated": {"double-grant 4", "stuck-lock 5"},
		"lock/lua-constant":           {"stolen-release 5"},
		"lock/set-nx-px-get-del":      {"stolen-release 6"},
		"lock/set-nx-px-blind-del": {"stolen-release 5: client 1 SET lock client-1 ex 10 NX, 10.001s pass: lock " +
			"expires, " +
			"client 2 SET lock client-12 ex 10 NX, client 1 DEL lock, client 3 SET lock CLIENT-1 ex 10 NX"},
		"sequence/get-set": {"duplicate-number 4: client 1 GET seq, client 2 GET seq, client 1 SET seq 1, client 2 " +
			"SET seq 1",
			"sequence-restart 6", "regression 10"},
	} {
		t.Run(variant, func(t *testing.T) {
			found := explored(t, plan.Search{Variant: variant, Bounds: interleave.Bounds{LostAnswers: -1},
				For: boundedBy}).Exploration.Result.Counterexamples
			require.Len(t, found, len(want))
			for i, c := range found {
				got := fmt.Sprintf("%s %d", c.Anomaly.Class, c.Length())
				if strings.Contains(want[i], ": ") {
					var steps []string
					for _, s := range c.Steps {
						who := ""
						if s.Client > 0 {
							who = fmt.Sprintf("client %d ", s.Client)
						}
						steps = append(steps, who+s.Command)
					}
					got += ": " + strings.Join(steps, ", ")
				}
				require.Equal(t, want[i], got)
			}
		})
	}
}

// explored runs a search and keeps its results in a temporary folder.
func explored(t *testing.T, s plan.Search) SearchOutcome {
	t.Helper()
	out, err := Explore(t.Context(), s, Options{Results: t.TempDir()})
	require.NoError(t, err)
	for _, f := range reports.ExplorationFormats() {
		require.FileExists(t, out.Dir+"/"+f.File)
	}
	return out
}
