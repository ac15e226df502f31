package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

func TestExpectationsOfSearchesFollowTheDocumentedFlaws(t *testing.T) {
	for _, c := range []struct {
		search Search
		want   string
	}{
		{Search{Variant: "lock/set-nx-px"}, "valid"},
		{Search{Variant: "lock/set-nx-px", Bounds: interleave.Bounds{Failovers: 1}}, "invalid: double-grant"},
		{Search{Variant: "lock/set-nx-px-blind-del"}, "invalid: double-grant and stolen-release"},
		{Search{Variant: "lock/set-nx-px-blind-del", Bounds: interleave.Bounds{Expiries: -1}}, "valid"},
		{Search{Variant: "lock/setnx"}, "invalid: double-grant and stuck-lock"},
		{Search{Variant: "lock/setnx", Bounds: interleave.Bounds{Crashes: -1}}, "invalid: double-grant and stuck-lock"},
		{Search{Variant: "lock/setnx", Bounds: interleave.Bounds{Crashes: -1, LostAnswers: -1}}, "valid"},
		{Search{Variant: "lock/setnx-expire-truncated", Bounds: interleave.Bounds{Crashes: -1, Expiries: -1}},
			"invalid: double-grant"},
		{Search{Variant: "lock/setnx-expire-truncated", Bounds: interleave.Bounds{Crashes: -1, Expiries: -1},
			TTL: 2 * time.Second}, "valid"},
		{Search{Variant: "dedup/set-nx-ex"}, "invalid: lost-message"},
		{Search{Variant: "sequence/string-compare-hash"},
			"invalid: duplicate-number and regression and sequence-restart"},
		{Search{Variant: "sequence/string-compare-hash", Regime: "timestamp17"}, "valid"},
	} {
		v, _, err := c.search.Resolve("")
		require.NoError(t, err)
		require.Equal(t, c.want, c.search.Expectation(v).String(), "%+v", c.search)
	}
}

func TestASearchIsMetOnlyByWhatIsDocumented(t *testing.T) {
	const a, b, c = harness.StuckLock, harness.LostMessage, harness.Regression
	result := func(exhausted bool, found ...harness.Class) interleave.Result {
		r := interleave.Result{Exhausted: exhausted}
		for _, class := range found {
			r.Counterexamples = append(r.Counterexamples,
				interleave.Counterexample{Anomaly: harness.Anomaly{Class: class}})
		}
		return r
	}
	for _, x := range []struct {
		clients int
		result  interleave.Result
		want    bool
	}{
		{3, result(true, a, b), true},
		{3, result(true, a, b, c), false},
		{3, result(true, a), false},
		{2, result(true, a), true},
		{2, result(true, c), false},
		{3, result(false, a), true},
		{3, result(false), false},
		{3, result(false, c), false},
	} {
		e := Search{Bounds: interleave.Bounds{Clients: x.clients}}.Expectation(workloads.Variant{})
		e.Must = []harness.Class{a, b}
		require.Equal(t, x.want, e.Met(x.result), "%+v", x)
	}
	e := SearchExpectation{Must: []harness.Class{harness.DoubleGrant}, May: []harness.Class{harness.StolenRelease}}
	require.True(t, e.Met(result(true, harness.StolenRelease)), "a theft is a double grant")
}

// In a search of a user's own lock or filter, the lease has a fraction of a second, unless the user names a lease. So a
// lock that rounds its lease down to seconds is found.
func TestASearchOfOnesOwnCutsNoLeaseToSeconds(t *testing.T) {
	script := func(as workloads.Family) Search {
		return Search{Script: &workloads.Script{As: as, Name: "mine", Source: "return 1"}}
	}
	asked := script(workloads.Lock)
	asked.TTL = 10 * time.Second
	announced := &workloads.Adapter{Announces: true, As: workloads.Lock, Command: []string{"true"}}
	for _, c := range []struct {
		search Search
		lease  time.Duration
	}{
		{script(workloads.Lock), 10500 * time.Millisecond},
		{script(workloads.Dedup), 20500 * time.Millisecond},
		{asked, 10 * time.Second},
		{Search{Variant: "lock/set-nx-px"}, 10 * time.Second},
		{Search{Adapter: announced}, workloads.ExploredLease},
	} {
		v, spec, err := c.search.Resolve("")
		require.NoError(t, err)
		v.Close()
		require.Equal(t, c.lease, spec.Program.Lease, "%+v", c.search)
	}
}
