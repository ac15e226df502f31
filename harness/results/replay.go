package results

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

// ReplayOptions says what Replay runs again.
type ReplayOptions struct {
	From    string             // path of a counterexample's file, or a recipe: see interleave.Recipe
	Variant string             // id of the variant that the counterexample must be of; empty: any variant
	Script  *workloads.Script  // needed with a script's recipe, which lacks the script's text; files have the text
	Adapter *workloads.Adapter // needed with an adapter's recipe
	Times   int                // number of repetitions, 1 or more
}

// Replayed is the result of a replay.
type Replayed struct {
	Variant        string                    `json:"variant"`
	Times          int                       `json:"times"` // number of requested repetitions; all had the same result
	Counterexample interleave.Counterexample `json:"counterexample"`

	Exploration reports.Exploration `json:"-"` // a search with this counterexample alone, for reports
}

// recordedCounterexample is a stored counterexample, with its search.
type recordedCounterexample struct {
	search         plan.Search
	counterexample interleave.Counterexample
	// fingerprint of the steps (interleave.CommandsOf), from a recipe; 0: from a file, which has the steps
	commands uint32
	server   string // version of the server on which it was found; empty: unknown
	name     string // name for error messages
}

// read reads the file or recipe in From. The error wraps plan.ErrUsage.
func (a ReplayOptions) read() (r recordedCounterexample, err error) {
	if !interleave.IsRecipe(a.From) {
		f, err := readCounterexample(a.From, a.Variant)
		return recordedCounterexample{search: f.Search, counterexample: f.Counterexample, name: a.From}, err
	}
	const shown = 16 // bytes, enough to tell recipes apart
	name := strings.Join(strings.Fields(a.From), "")
	r.name = name[:min(shown, len(name))] + "…"
	recipe, err := interleave.ParseRecipe(a.From)
	if err != nil {
		return r, plan.Usagef("%s: %w", r.name, err)
	}
	if r.search, err = searchOf(recipe, a); err != nil {
		return r, fmt.Errorf("%s: %w", r.name, err)
	}
	r.commands, r.server = recipe.Commands, recipe.Server
	r.counterexample = interleave.Counterexample{Budget: recipe.Budget, Schedule: recipe.Schedule, Recipe: name}
	r.counterexample.Anomaly.Class = recipe.Class
	return r, nil
}

// Replay runs a counterexample as often as a.Times says. The error wraps explore.ErrDiverged if a repetition differs
// from the record, and plan.ErrUsage if a.From is unusable.
func Replay(ctx context.Context, a ReplayOptions, o Options) (Replayed, error) {
	if a.Times < 1 {
		return Replayed{}, plan.Usagef("%d replays: ask for 1 or more", a.Times)
	}
	var err error
	if a.Adapter, err = described(ctx, a.Adapter, o); err != nil {
		return Replayed{}, err
	}
	r, err := a.read()
	if err != nil {
		return Replayed{}, err
	}
	v, spec, err := r.search.Resolve(o.Redis)
	if err != nil {
		return Replayed{}, fmt.Errorf("%s: %w", r.name, err)
	}
	defer v.Close()
	if err := adapter.Missing(v); err != nil {
		return Replayed{}, err
	}
	server, err := cluster.RedisVersion(o.Redis)
	if err != nil {
		return Replayed{}, err
	}
	began := time.Now()
	c, err := r.rerun(ctx, spec, a.Times)
	if errors.Is(err, explore.ErrDiverged) {
		return Replayed{}, fmt.Errorf("%s: %w%s", r.name, err, r.otherServer(server))
	}
	if err != nil {
		return Replayed{}, asUsage(err)
	}
	if c.Recipe == "" { // older files have none
		c.Recipe = recipeOf(r.search, v, c, server)
	}
	e := reports.Exploration{
		Name: v.ID, Variant: v.ID, Labels: r.search.Labels(v, spec), Doc: v.Doc, Source: v.Source,
		Clients: c.Budget.Clients, Started: began,
		Result:   interleave.Result{Budget: c.Budget, Counterexamples: []interleave.Counterexample{c}},
		Versions: reports.Versions(server),
		Replay:   r.search.ReplayCommand(),
	}
	return Replayed{v.ID, a.Times, c, e}, nil
}

// rerun runs the counterexample again and returns it with its steps.
func (r recordedCounterexample) rerun(ctx context.Context, spec explore.Spec, times int) (interleave.Counterexample,
	error) {
	c, err := explore.Rerun(ctx, spec, r.counterexample, times)
	if err == nil && r.commands != 0 && interleave.CommandsOf(c.Steps) != r.commands {
		err = fmt.Errorf("%w: clients send other commands than those recorded: use the version of this variant that "+
			"it belongs to", explore.ErrDiverged)
	}
	c.Recipe = r.counterexample.Recipe
	return c, err
}

// otherServer compares the version of the server on which the counterexample was found with this machine's version. It
// returns a remark if they differ, and "" if they are the same or the record has no version.
func (r recordedCounterexample) otherServer(here string) string {
	if r.server == "" || r.server == here {
		return ""
	}
	return fmt.Sprintf("; it was found on %s, and this is %s: choose that version with --redis-server", r.server, here)
}
