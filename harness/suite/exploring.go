package suite

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/reports"
)

// ofSearches lists the fields that a search may have.
var ofSearches = []string{"name", "times", "variant", "script", "adapter", "regime", "ttl", "expect", "explore"}

// dropLoadFields clears the fields about load, which a search does not have. The suite's defaults may set them. The
// argument given lists the fields that the run itself sets. A field about load among them is an error.
func (r *Entry) dropLoadFields(given []string) error {
	for _, name := range given {
		if !slices.Contains(ofSearches, name) {
			return r.errorf(name, "%s is for load, and this run is a search: leave it out, or move it under explore "+
				"if explore has it", name)
		}
	}
	bare := plan.Plan{Variant: r.Variant, Script: r.Script, Adapter: r.Adapter, Expect: r.Expect}
	if slices.Contains(given, "ttl") {
		bare.TTL = r.TTL
	}
	if slices.Contains(given, "regime") {
		bare.Regime = r.Regime
	}
	bare.Put(r.Place())
	r.Plan = bare
	return nil
}

// Searches lists the searches of a run with Explore: one, or one for each regime of a sequence.
func (r Entry) Searches() []plan.Search {
	s := *r.Explore
	s.Variant, s.Script, s.Adapter, s.Regime, s.TTL = r.Variant, r.Script, r.Adapter, r.Regime, r.TTL
	s.AtMostOnce = s.Crashes == 0 && s.LostAnswers == 0
	s.For = cmp.Or(s.For, plan.DefaultFor)
	return s.EveryRegime()
}

// checkSearch returns an error if a search of the run is impossible.
func (r Entry) checkSearch() error {
	bare := r.Plan
	bare.TTL = 0 // the explorer can use leases that are too long for a load
	if err := bare.Check(); err != nil {
		return err
	}
	for _, s := range r.Searches() {
		if err := s.Check(); err != nil {
			return r.errorf("explore", "%w", err)
		}
	}
	return nil
}

// expectedOfSearch describes what the searches are expected to find.
func (r Entry) expectedOfSearch() string {
	if !r.Expect.IsZero() {
		return r.Expect.Expectation().String()
	}
	var all []string
	for _, s := range r.Searches() {
		v, _, err := s.Resolve("")
		if err != nil { // Check reports it
			continue
		}
		if e := s.Expectation(v).String(); !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	return strings.Join(all, "; or, by regime, ")
}

// search runs the run's searches, and returns their combined result and their results folders.
func (r Entry) search(ctx context.Context, o results.Options) (m repetitionResult) {
	var j harness.Judged
	j.Totals = map[harness.Class]int{}
	var worst results.SearchOutcome
	var verdicts []harness.Verdict
	var found []string
	documented := true
	var steps []string // of counterexamples that are not expected
	for i, s := range r.Searches() {
		out, err := results.Explore(ctx, s, o)
		if out.Dir != "" {
			m.dirs = append(m.dirs, out.Dir)
		}
		if err != nil {
			m.run = tally.Run{Ending: tally.Failed, Why: strings.ReplaceAll(err.Error(), "\n", "; ")}
			return m
		}
		v := out.Exploration.Verdict()
		if verdicts = append(verdicts, v); i == 0 ||
			harness.Worst(v, worst.Exploration.Verdict()) != worst.Exploration.Verdict() {
			worst = out
		}
		documented = documented && out.Exploration.Met
		for i, c := range out.Exploration.Result.Counterexamples {
			if !r.expectsOf(out, c.Anomaly.Class) {
				steps = append(steps, out.Exploration.Steps(i))
			}
			j.Totals[c.Anomaly.Class]++
			j.Anomalies = append(j.Anomalies, c.Anomaly)
			found = append(found, strings.TrimSuffix(fmt.Sprintf("%s in %d steps, %s", c.Anomaly.Class, c.Length(),
				s.Regime), ", "))
		}
	}
	j.Verdict = harness.Worst(verdicts...)
	m.run = tally.Run{Verdict: j.Verdict, Found: strings.Join(found, "; "), Command: worst.Exploration.Command,
		Link: filepath.Join(worst.Dir, reports.ReportFile)}
	m.run.Ending, m.run.Why = r.endingOfSearch(j, documented, worst.Exploration.Sentence())
	if m.run.Ending != tally.Met && len(steps) > 0 {
		m.run.Steps = steps[0]
	}
	return m
}

// expectsOf reports whether a search with the given result may find the class.
func (r Entry) expectsOf(out results.SearchOutcome, c harness.Class) bool {
	found := harness.Judged{Verdict: harness.Invalid, Totals: map[harness.Class]int{c: 1}}
	if r.Expect.IsZero() {
		return out.Exploration.Met
	}
	return len(r.Expect.Expectation().Disallowed(found)) == 0
}

// endingOfSearch compares what the searches found with the run's expectation. documented says whether they found what
// the catalogue documents. It decides the ending if the run states no expectation.
func (r Entry) endingOfSearch(j harness.Judged, documented bool, sentence string) (tally.Ending, string) {
	expected := r.Expect.Expectation()
	switch {
	case r.Expect.IsZero() && documented:
		return tally.Met, ""
	case r.Expect.IsZero() && j.Verdict != harness.Unknown:
		return tally.NotMet, sentence
	case !r.Expect.IsZero() && expected.Met(j):
		return tally.Met, ""
	case j.Verdict == harness.Unknown:
		return tally.Undecided, sentence
	}
	return tally.NotMet, expected.Surprise(j)
}
