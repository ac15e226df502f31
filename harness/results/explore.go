package results

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

// SearchOutcome is the result of a search.
type SearchOutcome struct {
	Search      plan.Search
	Dir         string
	Exploration reports.Exploration
	Expectation plan.SearchExpectation
}

// Explore makes a search and writes a results folder: reports, verdict, and a file for each counterexample, which
// Replay can run. It returns an error if the search is impossible (plan.ErrUsage), or if the harness or its environment
// failed. If only writing the folder failed, the field Exploration has the result, and its Dir is empty.
func Explore(ctx context.Context, s plan.Search, o Options) (out SearchOutcome, err error) {
	if s.Adapter, err = described(ctx, s.Adapter, o); err != nil {
		return out, err
	}
	v, spec, err := s.Resolve(o.Redis)
	if err != nil {
		return out, err
	}
	defer v.Close()
	if err := adapter.Missing(v); err != nil {
		return out, err
	}
	spec.OnProgress = o.OnSearch
	out = SearchOutcome{Search: s, Expectation: s.Expectation(v)}
	server, err := cluster.RedisVersion(o.Redis)
	if err != nil {
		return SearchOutcome{}, err
	}
	if err := checkRoot(o.Results); err != nil { // before a search that may be long
		return SearchOutcome{}, err
	}
	began := time.Now()
	res, err := search(ctx, &s, v, spec, server, o)
	if err != nil {
		return out, asUsage(err)
	}
	s = s.WithSeedOf(res)
	out.Search = s
	for i, c := range res.Counterexamples {
		res.Counterexamples[i].Recipe = recipeOf(s, v, c, server)
	}
	out.Exploration = reports.Exploration{
		Name: v.ID, Variant: v.ID, Labels: s.Labels(v, spec), Doc: v.Doc, Source: v.Source,
		Versions: reports.Versions(server), Result: res, Started: began, Expected: out.Expectation.String(),
		Met: out.Expectation.Met(res),
	}
	if s.IsCustom() { // a user's algorithm has no documentation
		out.Exploration.Expected = ""
	}
	return out, out.keep(v, o)
}

// keep writes the results folder of a search. If that fails, it removes the folder.
func (out *SearchOutcome) keep(v workloads.Variant, o Options) (err error) {
	s, e := out.Search, out.Exploration
	if e.Dir, err = NewFolder(o.Results, "explore-"+s.Name(v)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("results cannot be kept in %s: %w", rootOf(o.Results), err),
				os.RemoveAll(e.Dir))
		}
	}()
	again := s
	if again.Script, err = keepScript(s.Script, e.Dir); err != nil {
		return err
	}
	e.Command, e.Replay, e.Files = again.CommandWith(o.Redis), again.ReplayCommand(), map[int]string{}
	for i, c := range e.Result.Counterexamples {
		rel := filepath.Join(anomaliesDir, fmt.Sprintf("%03d-%s.json", i+1, c.Anomaly.Class))
		if err := writeCounterexample(filepath.Join(e.Dir, rel), s, v, c); err != nil {
			return err
		}
		e.Files[i] = rel
	}
	if err := reports.WriteExploration(e.Dir, e); err != nil {
		return err
	}
	if err := LinkLatest(e.Dir); err != nil {
		return err
	}
	out.Dir, out.Exploration = e.Dir, e
	return nil
}

// search makes a search, or resumes one from a file. It may hand pieces of the search to workers, and save the search
// to a file.
func search(ctx context.Context, s *plan.Search, v workloads.Variant, spec explore.Spec, server string,
	o Options) (res interleave.Result, err error) {
	// A resumed search draws the same schedules.
	if spec.Random != nil && spec.Random.Seed == 0 && (o.Save != "" || o.Pieces != nil) {
		s.Seed = explore.DrawSeed()
		spec.Random.Seed = s.Seed
	}
	head := headOf(*s, v, server)
	if o.Resume != nil {
		if err := o.Resume.checkFits(head); err != nil {
			return res, err
		}
		spec.Resume = o.Resume.Checkpoint
	}
	if err := checkSave(o.Save); err != nil {
		return res, err
	}
	if o.Save != "" {
		spec.OnCheckpoint = func(c *explore.Checkpoint) error { return head.save(o.Save, c) }
	}
	if o.Pieces != nil {
		spec.Pieces = o.Pieces(head.Search, server)
	}
	return explore.Search(ctx, spec)
}

// asUsage makes errors wrap plan.ErrUsage, if the caller can fix them. Other errors stay as they are.
func asUsage(err error) error {
	var bad *workloads.ScriptError
	if errors.Is(err, explore.ErrSpec) || errors.As(err, &bad) {
		return plan.Usagef("%w", err)
	}
	return err
}

// ReportSearch rewrites the reports of a search from the verdict.json in its results folder.
func ReportSearch(dir string) (reports.Exploration, error) {
	file, err := os.Open(filepath.Join(dir, reports.VerdictFile))
	if err != nil {
		return reports.Exploration{}, fmt.Errorf("results: %w", err)
	}
	defer file.Close()
	e, err := reports.ReadExplorationJSON(file)
	if err != nil {
		return reports.Exploration{}, fmt.Errorf("results: %s: %w", file.Name(), err)
	}
	e.Dir = dir
	return e, reports.WriteExploration(dir, e)
}
