package results

import (
	"encoding/json"
	"hash/fnv"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/workloads"
)

// recipeOf returns the recipe of a search's counterexample. server is the version of the server on which the
// counterexample was found.
func recipeOf(s plan.Search, v workloads.Variant, c interleave.Counterexample, server string) string {
	r := interleave.RecipeOf(c)
	r.Program, r.Text, r.Regime, r.Lease, r.Skew, r.Server = v.ID, textOf(s.Script), s.Regime, s.TTL, s.Skew, server
	return r.String()
}

// textOf returns the fingerprint of a script and its arguments, without file names. It is 0 if there is no script.
func textOf(s *workloads.Script) uint32 {
	if s == nil {
		return 0
	}
	text := *s
	text.Name, text.ReleaseName = "", ""
	h := fnv.New32a()
	_ = json.NewEncoder(h).Encode(text) // cannot fail: it writes strings to memory
	return max(1, h.Sum32())
}

// searchOf returns the search that found the counterexample of a recipe. The recipe of a user's own algorithm has no
// script or adapter, so the caller passes it in the ReplayOptions. The error wraps plan.ErrUsage if the recipe is of
// another variant or script.
func searchOf(r interleave.Recipe, a ReplayOptions) (s plan.Search, err error) {
	variant, script := a.Variant, a.Script
	if kind, test, ok := strings.Cut(r.Program, " "); ok && !strings.Contains(kind, "/") {
		return s, plan.Usagef("it is of the Go test %s of a %s: go test -run '^%s$' -granttest.replay=WORD, in the "+
			"test's package", test, kind, test)
	}
	switch ofAdapter := strings.HasPrefix(r.Program, workloads.AdapterPrefix); {
	case ofAdapter && a.Adapter == nil:
		return s, plan.Usagef("its lock, filter or sequence is %s, an adapter that is not in it: give --adapter",
			r.Program)
	case !ofAdapter && a.Adapter != nil:
		return s, plan.Usagef("it is of %s, not of an adapter: leave --adapter out", r.Program)
	case r.Text != 0 && script == nil:
		return s, plan.Usagef("it is for the script %s, which it does not contain: give --script and the other "+
			"flags of the search", r.Program)
	case r.Text == 0 && script != nil:
		return s, plan.Usagef("it is for %s, not for a script: leave --script out", r.Program)
	case r.Text != textOf(script):
		return s, plan.Usagef("it is for another version of %s, or for other keys or arguments: give what the "+
			"search had", r.Program)
	case variant != "" && variant != r.Program:
		return s, plan.Usagef("it is a counterexample of %s, not of %s: name the right one", r.Program, variant)
	}
	return plan.Search{
		Variant: r.Program, Script: script, Adapter: a.Adapter, Regime: r.Regime, TTL: r.Lease, Skew: r.Skew,
		Bounds: r.Budget.Bounds(), AtMostOnce: r.Class != harness.LostMessage,
	}, nil
}
