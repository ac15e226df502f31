package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports"
)

// askExplorer searches each case for at most the given time, and adds the result to the case's row. Cases with the same
// variant, regime and lease share a search. It returns the brokenLine of each search that has one.
func (a *app) askExplorer(ctx context.Context, cases []plan.Case, rows []reports.Row, limit time.Duration) (
	brokenLines []string, err error) {
	type searchKey struct {
		variant, regime string
		ttl             time.Duration
	}
	answers := map[searchKey]reports.Row{}
	for i, c := range cases {
		p := c.Plan
		question := searchKey{p.Variant, p.Regime, p.TTL}
		if before, ok := answers[question]; ok { // the search does not depend on the plan's faults
			rows[i].AddExplorer(before.Explorer, before.Met, before.Verdict)
			rows[i].Mechanism = cmp.Or(rows[i].Mechanism, before.Mechanism)
			continue
		}
		fmt.Fprintf(a.err, "[%d/%d] %s: every interleaving\n", i+1, len(cases), c.Title)
		a.err.beginStage(perSearch)
		s := plan.Search{Variant: p.Variant, Script: p.Script, Adapter: p.Adapter, Regime: p.Regime, TTL: p.TTL,
			For: limit, AtMostOnce: true}
		if s.Check() != nil { // the explorer cannot search this variant
			rows[i].Explorer = "not asked"
			continue
		}
		brief, met, worst, err := a.exploreBriefly(ctx, s)
		if err != nil {
			return brokenLines, err
		}
		if line := brokenLine(worst); line != "" {
			brokenLines = append(brokenLines, line)
		}
		rows[i].AddExplorer(brief, met, worst.Exploration.Verdict())
		how := mechanism(p, anomaliesOf(worst.Exploration))
		rows[i].Mechanism = cmp.Or(rows[i].Mechanism, how)
		answers[question] = reports.Row{Explorer: brief, Met: met, Verdict: worst.Exploration.Verdict(), Mechanism: how}
	}
	return brokenLines, nil
}

// mechanism returns the variant's documentation of how violations such as the given ones happen; empty: none.
func mechanism(p plan.Plan, evidence []harness.Anomaly) string {
	v, err := p.Workload()
	if err != nil {
		return ""
	}
	return v.Mechanism(evidence)
}

// anomaliesOf lists the violations that a search found.
func anomaliesOf(e reports.Exploration) (all []harness.Anomaly) {
	for _, c := range e.Result.Counterexamples {
		all = append(all, c.Anomaly)
	}
	return all
}

// brokenLine describes a search's counterexamples by class and number of steps, and names the file of the smallest. It
// is empty if there are none.
func brokenLine(out results.SearchOutcome) string {
	e := out.Exploration
	if len(e.Result.Counterexamples) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: the explorer broke it with %s: doublegrant explore --replay %s",
		strings.TrimSuffix(e.Variant+", "+out.Search.Regime, ", "), classesInSteps(e),
		filepath.Join(out.Dir, e.Files[0]))
}

// classesInSteps lists the counterexamples of a search, such as "double-grant in 4 steps and stuck-lock in 3 steps".
func classesInSteps(e reports.Exploration) string {
	var all []string
	for _, c := range e.Result.Counterexamples {
		all = append(all, fmt.Sprintf("%s in %s", c.Anomaly.Class, units.Plural(int64(c.Length()), "step", "steps")))
	}
	return units.And(all)
}

// exploreBriefly makes a search, and returns its result in a few words. For a sequence without a named regime it makes
// a search under every regime. In that case it describes and returns the first search with the worst verdict. The
// result met is true if all these searches found what is documented.
func (a *app) exploreBriefly(ctx context.Context, s plan.Search) (brief string, met bool, worst results.SearchOutcome,
	err error) {
	met = true
	all := s.EveryRegime()
	for i, s := range all {
		out, err := a.search(ctx, s)
		if err != nil {
			return "", false, worst, err
		}
		met = met && out.Exploration.Met
		v := out.Exploration.Verdict()
		if i > 0 && harness.Worst(worst.Exploration.Verdict(), v) == worst.Exploration.Verdict() {
			continue
		}
		worst, brief = out, out.Exploration.Brief()
		if len(all) > 1 && v != harness.Valid {
			brief += ", " + s.Regime
		}
	}
	return brief, met, worst, nil
}
