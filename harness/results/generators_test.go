package results_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clients"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/harness/generators"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// spread runs a plan by generators in this process, each with a clock of its own.
func spread(t *testing.T, p plan.Plan, clocks ...func() harness.Clock) results.Outcome {
	t.Helper()
	p.Generators = len(clocks)
	var serving sync.WaitGroup
	defer serving.Wait()
	out, err := results.Execute(t.Context(), p,
		results.Options{Results: t.TempDir(), Generators: func(ctx context.Context, n int) (results.GeneratorOptions,
			error) {
			post := generators.NewMemory()
			for i, clock := range clocks {
				w := generators.Generator{Name: fmt.Sprint(i), Clock: clock,
					Build: func(ctx context.Context, a generators.Assignment) (generators.Setup, error) {
						return results.Options{}.BuildShare(ctx, a, false)
					}}
				serving.Go(func() {
					if err := w.Serve(context.WithoutCancel(ctx), post); err != nil {
						t.Errorf("generator %d: %v", i, err)
					}
				})
			}
			return results.GeneratorOptions{Post: post, Close: func(context.Context) error { return nil }}, nil
		}})
	require.NoError(t, err)
	t.Logf("%s: %s", out.Plan.Command(), out.Report.Judged.Summary())
	return out
}

// clocksApart are 3 s apart, and drift away from each other as fast as clocks may.
func clocksApart() []func() harness.Clock {
	const drift = 0.9 * generators.MostDrift
	wrong := func(ahead time.Duration, rate float64) func() harness.Clock {
		return func() harness.Clock { return harness.NewClock().Skewed(ahead, rate) }
	}
	return []func() harness.Clock{wrong(0, drift), wrong(3*time.Second, -drift), wrong(-3*time.Second, 0)}
}

// TestGeneratorsWithClocksApart shows what clocks 3 s apart do to verdicts: nothing.
func TestGeneratorsWithClocksApart(t *testing.T) {
	t.Parallel()
	requireApart(t, "lock/set-nx-px", harness.Valid)
}

func TestLongGeneratorsWithClocksApart(t *testing.T) {
	testenv.NeedLong(t)
	trials := 1
	if testenv.Deep() {
		trials = 20
	}
	for range trials {
		for variant, want := range map[string]harness.Verdict{
			"lock/set-nx-px-blind-del": harness.Invalid, "dedup/set-nx-ex": harness.Valid,
			"dedup/get-set":                 harness.Invalid,
			"sequence/numeric-compare-hash": harness.Valid, "sequence/get-set": harness.Invalid,
			"writes/sadd": harness.Valid,
		} {
			requireApart(t, variant, want)
		}
	}
}

func requireApart(t *testing.T, variant string, want harness.Verdict) {
	t.Helper()
	p := plan.Plan{Variant: variant, Clients: 30, Duration: 3 * time.Second, Rate: gentle}
	if want == harness.Invalid {
		p.Rate = 4000 // what is wrong with it shows if clients meet
	}
	if variant == "sequence/numeric-compare-hash" {
		p.Regime = "growing"
	}
	out := spread(t, p, clocksApart()...)
	require.Equal(t, want, out.Report.Judged.Verdict, "%s: %s", variant, out.Report.Judged.Summary())
	require.True(t, out.Met)
	require.Positive(t, figure(out, "gates", "clocks known to within"))
	again, err := results.Recheck(t.Context(), out.Dir)
	require.NoError(t, err)
	require.Equal(t, want, again.Report.Judged.Verdict, "judged again")
}

func TestLongAPartitionStrikesEveryGenerator(t *testing.T) {
	testenv.NeedLong(t)
	out := spread(t, plan.Plan{Variant: "lock/set-nx-px", With: []string{"writes/sadd"}, Clients: 30, Rate: 2000,
		Nemesis: []string{"partition-primary"}}, clocksApart()[:2]...)
	require.Equal(t, harness.Invalid, out.Report.Judged.Verdict, out.Report.Judged.Summary())
	require.True(t, out.Met, out.Report.Judged.Summary())
	for op, err := range out.Report.History.Ops {
		require.NoError(t, err)
		require.LessOrEqual(t, op.Call, op.Return)
	}
	serves := map[string]bool{}
	for _, e := range out.Report.History.Events {
		if e.Kind == harness.EventServesWrites {
			serves[e.Detail] = true
		}
	}
	require.Len(t, serves, 5, "generators tell who serves their groups")
}

func TestPlansThatGeneratorsCannotHave(t *testing.T) {
	for want, p := range map[string]plan.Plan{
		"3 generators for 2 clients: ask for at least as many": {Variant: "lock/set-nx-px", Generators: 3, Clients: 2},
		"a resource exists in one process only":                {Variant: "lock/set-nx-px", Generators: 2, Resource: true},
		"writes/rounds runs its rounds in one process":         {Variant: "writes/rounds", Generators: 2},
		"a fault of clients cannot reach": {Variant: "lock/set-nx-px", Generators: 2,
			Nemesis: []string{"freeze-clients"}},
		"can only be run by doublegrant run": {Variant: "lock/set-nx-px", Generators: 2},
	} {
		_, err := results.Execute(t.Context(), p, results.Options{Results: t.TempDir()})
		require.ErrorIs(t, err, plan.ErrUsage, want)
		require.ErrorContains(t, err, want)
	}
}

// TestAGeneratorKnowsTheRunsRedis covers a generator that reaches another Redis at the same address, or none.
func TestAGeneratorKnowsTheRunsRedis(t *testing.T) {
	c := clustertest.Start(t, cluster.Standalone(cluster.Options{}))
	r, err := c.Connect(0)
	require.NoError(t, err)
	build := func(change func(task map[string]any)) error {
		task := map[string]any{"plan": "variant: lock/set-nx-px\ngenerators: 2\n", "deployment": c.Deployment(),
			"key": "mark", "nonce": "right"}
		change(task)
		text, err := json.Marshal(task)
		require.NoError(t, err)
		s, err := results.Options{}.BuildShare(t.Context(),
			generators.Assignment{Task: text, Number: 1, Share: harness.Share{End: 2}, Clock: harness.NewClock()},
			false)
		if err == nil {
			require.NoError(t, s.Close())
		}
		return err
	}
	same := func(map[string]any) {}
	require.ErrorContains(t, build(same),
		"a different Redis answers at the run's address on this machine: for generators on other machines, give")
	require.NoError(t, r.Set(t.Context(), "mark", "wrong", 0).Err())
	require.ErrorContains(t, build(same), "a different Redis answers")
	require.NoError(t, r.Set(t.Context(), "mark", "right", 0).Err())
	require.NoError(t, build(same))
	require.ErrorContains(t, build(func(task map[string]any) {
		d := c.Deployment()
		d.Nodes[0].Real = "127.0.0.1:1"
		task["deployment"] = d
	}), "this machine cannot reach the run's Redis")
	require.ErrorContains(t, build(func(task map[string]any) {
		d := c.Deployment()
		d.Nodes = append(d.Nodes, clients.Node{Name: "r2", Announced: "127.0.0.1:1"})
		task["deployment"] = d
	}), "this machine cannot reach r2 of the run's Redis")
	require.ErrorContains(t, build(func(task map[string]any) {
		task["plan"] = "client: {as: lock, command: [python3, none.py]}\ngenerators: 2\n"
	}), "allow that with --allow-adapters")
	require.ErrorContains(t, build(func(task map[string]any) { task["more"] = 1 }), "unknown field")
}
