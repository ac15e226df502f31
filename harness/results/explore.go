package results

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

// Searched is the result of a search.
type Searched struct {
	Search      plan.Search
	Dir         string
	Exploration reports.Exploration
	Expectation plan.SearchExpectation
}

// Explore goes through the interleavings of a search and writes a results folder: report, verdict, and for every counterexample a
// file that Replay can run. It returns an error if the search cannot be made (plan.ErrUsage), or if the harness or its
// environment failed.
func Explore(ctx context.Context, s plan.Search, o Options) (Searched, error) {
	v, spec, err := s.Resolve(o.Redis)
	if err != nil {
		return Searched{}, err
	}
	out := Searched{Search: s, Expectation: s.Expectation(v)}
	began := time.Now()
	res, err := explore.Search(ctx, spec)
	if err != nil {
		return out, asUsage(err)
	}
	if out.Dir, err = NewFolder(o.Results, "explore-"+s.Name(v)); err != nil {
		return out, err
	}
	again := s
	if again.Script, err = keepScript(s.Script, out.Dir); err != nil {
		return out, err
	}
	out.Exploration = reports.Exploration{
		Dir: out.Dir, Name: v.ID, Variant: v.ID, Command: again.CommandWith(o.Redis), Labels: s.Labels(v, spec), Doc: v.Doc, Source: v.Source,
		Result: res, Files: map[int]string{}, Started: began, Expected: out.Expectation.String(), Met: out.Expectation.Met(res),
	}
	if s.Script != nil { // nothing is documented of scripts
		out.Exploration.Expected = ""
	}
	for i, c := range res.Found {
		rel := filepath.Join(anomaliesDir, fmt.Sprintf("%03d-%s.json", i+1, c.Anomaly.Class))
		if err := writeCounterexample(filepath.Join(out.Dir, rel), s, v, c); err != nil {
			return out, err
		}
		out.Exploration.Files[i] = rel
	}
	return out, errors.Join(reports.WriteExploration(out.Dir, out.Exploration), Relink(out.Dir))
}

// asUsage marks errors that the caller can mend.
func asUsage(err error) error {
	var bad *workloads.ScriptError
	if errors.Is(err, explore.ErrSpec) || errors.As(err, &bad) {
		return plan.Usagef("%w", err)
	}
	return err
}
