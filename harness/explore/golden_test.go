package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file compares searches with a record of earlier results. Other tests compare two searches of one binary, so they
// do not notice a change in both.

const (
	schedulesToCheckpoint = 20
	piecesRecorded        = 12   // pieces of a search: two rounds and the first of a third
	mostOfVariant         = 2000 // schedules of a variant
)

// Searches give the recorded results.
func TestTheGoldenRecord(t *testing.T) {
	compareWithRecord(t, "testdata/golden.txt", func(t *testing.T) []string { return searchRandom(t, comparisons[3]) })
}

func TestLongTheGoldenRecord(t *testing.T) {
	testenv.NeedLong(t)
	compareWithRecord(t, "testdata/golden_long.txt", func(t *testing.T) []string {
		return append(searchRandom(t, comparisons[:3]...), searchCatalogue(t)...)
	})
}

// searchRandom searches the first random program of each kind.
func searchRandom(t *testing.T, some ...comparison) (all []string) {
	for _, c := range some {
		tryRandom(t, c.kinds, c.stream, false, func(s *scheduler, spec Spec, what string) {
			x := &trial{scheduler: s, spec: spec, what: fmt.Sprintf("stream %d, %s", c.stream, what)}
			findTwoClasses(x)
			x.spec.Program.NoBackgroundWork = true
			all = append(all, x.described())
		})
	}
	return all
}

// searchCatalogue searches the variants whose clients are in this process, except those that wait for replicas, since
// the last replica may acknowledge at any time.
func searchCatalogue(t *testing.T) (all []string) {
	for _, v := range workloads.Catalogue() {
		p, ok := v.Program(workloads.Options{Regime: workloads.Growing})
		if !ok || p.Gate != interleave.InProcess || p.Replicas {
			continue
		}
		spec := Spec{Program: p, Checkers: checkers.ForSearch(p.Kinds...), Bounds: interleave.Bounds{Clients: 2},
			Workers: 1, MaxSchedules: mostOfVariant}
		if v.ExploredBriefly {
			spec.Crashes, spec.Expiries, spec.LostAnswers = -1, -1, -1
		}
		t.Run(v.ID, func(t *testing.T) {
			x := &trial{scheduler: newScheduler(t, spec), spec: spec, what: v.ID}
			all = append(all, x.described())
		})
	}
	return all
}

// Only the next three functions use the internals of a search.

// wholeSearch does in the trial's world what Search does. counted is a digest of the counts and findings. forgot says
// why schedules were no longer run from memory; empty: they were.
func (x *trial) wholeSearch() (res interleave.Result, counted, forgot string) {
	x.t.Helper()
	ctx := x.t.Context()
	se := x.until(ctx, x.spec)
	counted = digest(x.t, se.seen.Tally(0))
	if se.memory != nil {
		forgot = se.memory.Broken
	}
	res = se.result([]*world{x.w}, "")
	err := errors.Join(se.shrinkFound(ctx, x.w), se.orderFound(ctx, x.w), se.addCounterexamples(ctx, x.w, &res))
	require.NoError(x.t, err, x.what)
	res.Situations, err = se.rerunSituations(ctx, x.w)
	require.NoError(x.t, err, x.what)
	return res, counted, forgot
}

// firstPieces does the first of many small pieces of the search. It returns the beginning of each one's ID and a digest
// of its result.
func (x *trial) firstPieces() (all []string) {
	x.t.Helper()
	whole, err := x.spec.withDefaults()
	require.NoError(x.t, err)
	whole.MaxSchedules = 0
	runner := PieceRunner{whole, x.w}
	ctx, enough := context.WithCancel(x.t.Context())
	defer enough()
	spec := x.pieces(1, func(ctx context.Context, p Piece) (PieceResult, error) {
		if len(all) == piecesRecorded {
			enough()
			<-ctx.Done()
			return PieceResult{}, ctx.Err()
		}
		res, failed := runner.Run(ctx, p)
		claim, err := res.Claim()
		all = append(all, fmt.Sprintf("%.8s:%.8s", p.ID(), claim))
		return res, errors.Join(failed, err)
	})
	spec.MaxSchedules = 0
	x.until(ctx, spec)
	return all
}

// firstCheckpoint stops the search early and returns a digest of its checkpoint without times. A random search runs to
// its end.
func (x *trial) firstCheckpoint() string {
	x.t.Helper()
	spec := x.spec
	if spec.Random == nil {
		spec.MaxSchedules = schedulesToCheckpoint
	}
	text, err := json.Marshal(x.cameTo(x.t.Context(), spec).left)
	require.NoError(x.t, err)
	var c map[string]json.RawMessage
	require.NoError(x.t, json.Unmarshal(text, &c))
	delete(c, "elapsed")
	delete(c, "first")
	return digest(x.t, c)
}

// described searches the trial's program in every recorded way. The first line of its result names the program.
func (x *trial) described() string {
	x.t.Helper()
	var p paragraph
	p.add("%s", x.what)
	res, counted, forgot := x.wholeSearch()
	for _, part := range res.Parts {
		p.add("part of %v, places from %d: %d schedules, %d pruned, exhausted: %v", part.Budget, part.Budget.Place,
			part.Schedules, part.Pruned, part.Exhausted)
	}
	p.add("%d steps, exhausted: %v, stopped: %s", res.Steps, res.Exhausted, res.Stopped)
	p.add("limits: %s", strings.Join(res.Limits, "; "))
	p.add("memory ended: %s", forgot)
	for _, c := range res.Counterexamples {
		p.addFound(x, c)
	}
	for _, s := range res.Situations {
		p.addSituation(x.t, s)
	}
	p.add("counted %s, checkpoint %s", counted, x.firstCheckpoint())
	p.add("pieces %s", strings.Join(x.firstPieces(), " "))
	return strings.TrimSpace(p.String())
}

func (p *paragraph) addFound(x *trial, c interleave.Counterexample) {
	p.add("found %s in %d steps: %v", c.Anomaly.Class, c.Length(), c.Schedule)
	for line := range strings.Lines(c.Text()) {
		p.add("%s", line)
	}
	p.add("note: %s", c.Anomaly.Note)
	r := interleave.RecipeOf(c)
	r.Program, r.Lease, r.Skew = x.spec.Program.Name, x.spec.Program.Lease, x.spec.Skew
	p.add("recipe %s, all of it %s", r, digest(x.t, c))
}

func (p *paragraph) addSituation(t *testing.T, s interleave.Situation) {
	var schedule []interleave.Choice
	for _, step := range s.Steps {
		schedule = append(schedule, step.Choice)
	}
	p.add("met %d times: %s, first in %v, all of it %s", s.Count, s.Name, schedule, digest(t, s))
}
