package results

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/workloads"
)

// found makes a search and returns its counterexamples.
func found(t *testing.T, s plan.Search) []interleave.Counterexample {
	t.Helper()
	all := explored(t, s).Exploration.Result.Counterexamples
	require.NotEmpty(t, all)
	return all
}

// A recipe alone leads to the same counterexample: the conditions of the search are in it.
func TestARecipeLeadsToTheSameCounterexample(t *testing.T) {
	for name, s := range map[string]plan.Search{
		"a race": race,
		"a lease": {Variant: "lock/set-nx-px-blind-del", TTL: 777 * time.Millisecond,
			Bounds: interleave.Bounds{LostAnswers: -1}},
		"a regime": {Variant: "sequence/string-compare-hash", Regime: "growing",
			Bounds: interleave.Bounds{Clients: 2, Crashes: -1, Expiries: -1, LostAnswers: -1}},
		"a skew": {Variant: "lock/getset-deadline", Skew: 20 * time.Second,
			Bounds: interleave.Bounds{Clients: 2, LostAnswers: -1}},
		"failover": {Variant: "lock/set-nx-px",
			Bounds: interleave.Bounds{Clients: 2, Crashes: -1, Expiries: -1, Failovers: 1, LostAnswers: -1}},
		"late": {Variant: "lock/set-nx-px-blind-del", Bounds: interleave.Bounds{Clients: 2, Late: 1}, First: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range found(t, s) {
				again, err := Replay(t.Context(), ReplayOptions{From: c.Recipe, Times: 2}, Options{})
				require.NoError(t, err)
				require.Equal(t, c, again.Counterexample)
				require.Equal(t, s.Variant, again.Variant)
				require.Equal(t, c.Recipe, again.Exploration.Result.Counterexamples[0].Recipe)
			}
		})
	}
}

func TestARecipeOfAScriptNeedsTheScript(t *testing.T) {
	script := &workloads.Script{As: workloads.Lock, Name: "naive", Args: []string{"{owner}"},
		Source: `if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('set', KEYS[1], ARGV[1])
return 1`}
	c := found(t, plan.Search{Script: script, Bounds: interleave.Bounds{Clients: 2, LostAnswers: -1}})[0]
	renamed := *script
	renamed.Name, renamed.File = "other", "/elsewhere/other.lua"
	again, err := Replay(t.Context(), ReplayOptions{From: c.Recipe, Script: &renamed, Times: 1}, Options{})
	require.NoError(t, err, "its name does not matter")
	require.Equal(t, c.Anomaly.Class, again.Counterexample.Anomaly.Class)
	require.Contains(t, again.Exploration.Replay, "--script=/elsewhere/other.lua")

	changed := *script
	changed.Source += " "
	for want, a := range map[string]ReplayOptions{
		"which it does not contain: give --script": {From: c.Recipe},
		"another version of script/naive":          {From: c.Recipe, Script: &changed},
		"not for a script: leave --script out":     {From: found(t, race)[0].Recipe, Script: script},
	} {
		a.Times = 1
		_, err := Replay(t.Context(), a, Options{})
		require.ErrorIs(t, err, plan.ErrUsage)
		require.ErrorContains(t, err, want)
	}
}

func TestARecipeOfSomethingElseIsRefused(t *testing.T) {
	good, err := interleave.ParseRecipe(found(t, race)[0].Recipe)
	require.NoError(t, err)
	changed := func(change func(*interleave.Recipe)) string {
		r := good
		change(&r)
		return r.String()
	}
	for want, from := range map[string]string{
		"it is a counterexample of " +
			"dedup/set-nx-ex": changed(func(r *interleave.Recipe) { r.Program = "dedup/set-nx-ex" }),
		"ask for 0 or 1":     changed(func(r *interleave.Recipe) { r.Budget.Failovers = 3 }),
		"ask for 1ms to":     changed(func(r *interleave.Recipe) { r.Budget.Expiries = 1 << 20; r.Lease = 1000 * time.Hour }),
		"ask for at most 32": changed(func(r *interleave.Recipe) { r.Budget.Late = 33 }),
	} {
		_, err := Replay(t.Context(), ReplayOptions{From: from, Variant: "dedup/get-set", Times: 1}, Options{})
		require.ErrorIs(t, err, plan.ErrUsage, want)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err = Replay(t.Context(), ReplayOptions{From: changed(func(r *interleave.Recipe) { r.Commands++ }), Times: 1},
		Options{})
	require.ErrorIs(t, err, explore.ErrDiverged)
	require.ErrorContains(t, err, "send other commands")
	require.NotContains(t, err.Error(), "found on", "it is the same server")
	_, err = Replay(t.Context(),
		ReplayOptions{From: changed(func(r *interleave.Recipe) { r.Commands++; r.Server = "Redis 6.6.6" }),
			Times: 1}, Options{})
	require.ErrorContains(t, err, "it was found on Redis 6.6.6, and this is Redis ")
	_, err = Replay(t.Context(), ReplayOptions{From: changed(func(r *interleave.Recipe) { r.Server = "Redis 6.6.6" }),
		Times: 1}, Options{})
	require.NoError(t, err, "another server that does the same will do")
}
