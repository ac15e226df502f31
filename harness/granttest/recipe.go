package granttest

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file converts counterexamples to recipes and back.

// setRecipes sets the recipe of each counterexample of a search.
func (s subject) setRecipes(t TB, p parameters, spec explore.Spec, all []interleave.Counterexample) {
	for i, c := range all {
		r := interleave.RecipeOf(c)
		r.Program, r.Regime, r.Lease, r.Skew, r.Server = s.programName(t), string(p.Regime), spec.Program.Lease,
			spec.Skew, serverVersion()
		all[i].Recipe = r.String()
	}
}

// programName names the algorithm in a recipe, by its kind and its test.
func (s subject) programName(t TB) string { return string(s.kind) + " " + t.Name() }

// serverVersion returns name and version of the server that tests use; empty if they are unknown.
func serverVersion() string {
	v, err := cluster.RedisVersion("")
	if err != nil {
		return ""
	}
	return v
}

// replayCommand returns the command that replays a recipe. The caller appends the recipe.
func replayCommand(t TB) string { return commandToRepeat(t.Name(), "-granttest.replay") }

// parse reads a recipe. The error says why it cannot be used.
func (s subject) parse(t TB, word string) (f saved, err error) {
	r, err := interleave.ParseRecipe(word)
	if err != nil {
		return f, err
	}
	of, test, ok := strings.Cut(r.Program, " ")
	switch {
	case !ok:
		return f, fmt.Errorf("it is for %s, not for a test: use doublegrant explore --replay", r.Program)
	case kind(of) != s.kind:
		return f, fmt.Errorf("it is for a %s, and this test is for a %s", of, s.kind)
	case test != t.Name():
		return f, fmt.Errorf("it is for the test %s, and this is %s: choose the former with -run", test, t.Name())
	}
	if r.Regime != "" {
		if _, err = workloads.ParseRegime(r.Regime); err != nil {
			return f, err
		}
	}
	f = saved{Kind: s.kind, Parameters: parameters{TTL: r.Lease, Regime: Regime(r.Regime)}, Skew: r.Skew}
	f.Counterexample = interleave.Counterexample{Budget: r.Budget, Schedule: r.Schedule}
	f.Counterexample.Anomaly.Class = r.Class
	return f, nil
}

// commandToRepeat returns the command that repeats a test. It works anywhere in the test's module.
func commandToRepeat(test string, flags ...string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(append([]string{"go test -run", shellQuoted(strings.Join(parts, "/")), packagePath()},
		flags...), " ")
}

// packagePath returns the import path of the package under test, or "." if it has none.
func packagePath() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if path, ok := strings.CutSuffix(info.Path, ".test"); ok && path != "command-line-arguments" {
			return path
		}
	}
	return "."
}

// shellQuoted quotes s for a shell, as one word.
func shellQuoted(s string) string {
	return fmt.Sprintf("'%s'", strings.ReplaceAll(s, "'", `'\''`))
}
