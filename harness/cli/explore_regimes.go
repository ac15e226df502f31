package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/reports"
)

// everyRegime is the JSON output of searches under several regimes.
type everyRegime struct {
	reports.Head
	Variant string                        `json:"variant"`
	Verdict harness.Verdict               `json:"verdict"` // the worst verdict of all regimes
	Summary string                        `json:"summary"`
	Regimes []reports.ExplorationDocument `json:"regimes"`
}

// exploreRegimes searches under one regime after the other. The worst verdict decides the exit code.
func (a *app) exploreRegimes(ctx context.Context, searches []plan.Search, how searchHow) error {
	if err := searches[0].Check(); err != nil {
		return err
	}
	var outs []results.SearchOutcome
	var verdicts []harness.Verdict
	stop := a.startBar(time.Duration(len(searches))*perSearch, "about")
	defer stop()
	for i, s := range searches {
		fmt.Fprintf(a.err, "[%d/%d] %s, regime %s\n", i+1, len(searches), s.Variant, s.Regime)
		a.err.beginStage(perSearch)
		o := a.options()
		o.Pieces = how.pieces
		out, err := results.Explore(ctx, s, o)
		if err = orInterrupted(ctx, err); err != nil {
			return err
		}
		outs, verdicts = append(outs, out), append(verdicts, out.Exploration.Verdict())
		if how.ended != nil && how.ended() { // the next search would have no workers either
			break
		}
	}
	stop()
	worst := harness.Worst(verdicts...)
	a.code = verdictCode(worst)
	if err := a.tellOfRegimes(outs); err != nil {
		return err
	}
	if a.json {
		all := everyRegime{Head: reports.HeadOf("explorations"), Variant: outs[0].Exploration.Variant, Verdict: worst,
			Summary: regimesSentence(outs, worst)}
		for _, out := range outs {
			all.Regimes = append(all.Regimes, reports.ExplorationDocumentOf(out.Exploration))
		}
		return a.printJSON(all)
	}
	if a.markdown {
		return a.markdownRegimes(outs)
	}
	return a.printRegimes(outs, worst, how.situation)
}

// markdownRegimes prints the searches under all regimes for an issue tracker, one after the other.
func (a *app) markdownRegimes(outs []results.SearchOutcome) error {
	for i, out := range outs {
		if i > 0 {
			a.println("")
		}
		if err := reports.IssueMarkdown(a.out, out.Exploration); err != nil {
			return err
		}
	}
	return nil
}

// printRegimes prints a line for each regime, then the searches that are not valid, then the paths of the reports of
// the valid ones.
func (a *app) printRegimes(outs []results.SearchOutcome, worst harness.Verdict, situation string) error {
	fmt.Fprint(a.out, a.layout().Fold(strings.ToUpper(worst.String())+"  ", regimesSentence(outs, worst)))
	var t texttable.Table
	scope := outs[0].Exploration.Scope()
	differs := func(out results.SearchOutcome) bool { return out.Exploration.Scope() != scope }
	same := !slices.ContainsFunc(outs, differs)
	for _, out := range outs {
		says := out.Exploration.InShort()
		if !same {
			says += " Searched: " + out.Exploration.Scope() + "."
		}
		t.Add("  "+out.Search.Regime, out.Exploration.Verdict().String(), says)
	}
	if err := t.Write(a.out, texttable.Columns(a.terminal)); err != nil {
		return err
	}
	if same {
		fmt.Fprint(a.out, a.layout().Fold("searched: ", scope))
	}
	var valid []results.SearchOutcome
	for _, out := range outs {
		if out.Exploration.Verdict() == harness.Valid {
			valid = append(valid, out)
			continue
		}
		a.println("\nregime %s", out.Search.Regime)
		if err := a.printExploration(out.Exploration, situation); err != nil {
			return err
		}
	}
	if len(valid) > 0 {
		a.println("")
	}
	for _, out := range valid {
		a.println("report: %s", filepath.Join(out.Dir, "report.html"))
	}
	return nil
}

// regimesSentence says which regimes have the worst verdict.
func regimesSentence(outs []results.SearchOutcome, worst harness.Verdict) string {
	var names []string
	for _, out := range outs {
		if out.Exploration.Verdict() == worst {
			names = append(names, out.Search.Regime)
		}
	}
	of := fmt.Sprintf("%d of %d regimes of proposals", len(names), len(outs))
	switch worst {
	case harness.Invalid:
		return fmt.Sprintf("Broken under %s: %s.", of, strings.Join(names, ", "))
	case harness.Valid:
		return fmt.Sprintf("No interleaving breaks it under %s: %s.", of, strings.Join(names, ", "))
	}
	return fmt.Sprintf("No verdict under %s: %s.", of, strings.Join(names, ", "))
}
