package results_test

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/history"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// gentle is a rate in operations a second. Every machine reaches the tenth of it that a valid load needs. Clients meet
// often enough at this rate.
const gentle = 1000

// until lets a plan that has to find something take as long as it needs.
func until(p plan.Plan) plan.Plan {
	p.Duration, p.StopOnFirst, p.Rate = time.Hour, true, -1
	return p
}

// execute runs a plan into a temporary folder and returns the outcome.
func execute(t *testing.T, p plan.Plan) results.Outcome {
	t.Helper()
	out, err := results.Execute(t.Context(), p, results.Options{Results: t.TempDir()})
	require.NoError(t, err)
	t.Logf("%s: %s", out.Plan.Command(), out.Report.Judged.Summary())
	return out
}

// figure returns a checker's figure of that name, or -1 if there is none.
func figure(out results.Outcome, checker, name string) float64 {
	for _, g := range out.Report.Judged.Judgements {
		for _, f := range g.Figures {
			if g.Checker == checker && f.Name == name {
				return f.Value
			}
		}
	}
	return -1
}

// watched executes p. For each violation it returns the time from the Return of the violation's last operation to the
// report.
func watched(t testing.TB, p plan.Plan) (results.Outcome, []time.Duration) {
	t.Helper()
	var delays []time.Duration
	out, err := results.Execute(t.Context(), p,
		results.Options{Results: t.TempDir(), OnViolation: func(a harness.Anomaly, at time.Duration) {
			last := slices.MaxFunc(a.Ops, func(x, y harness.Op) int { return int(x.Return - y.Return) })
			delays = append(delays, at-last.Return)
		}})
	require.NoError(t, err)
	return out, delays
}

// requireFiles checks that there is something in each of these files of a results folder.
func requireFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NotZero(t, info.Size(), name)
	}
}

func TestAFailingRunLeavesEveryFileBehind(t *testing.T) {
	out, delays := watched(t, until(plan.Plan{Variant: "sequence/string-compare-hash", Clients: 20}))
	require.Equal(t, harness.Invalid, out.Report.Judged.Verdict)
	require.True(t, out.Met)
	require.NotEmpty(t, delays)
	require.Contains(t, out.Plan.Command(), "--stop-on-first=true")
	requireFiles(t, out.Dir, "plan.yaml", "verdict.json", "report.html", "summary.md", "junit.xml")
	requireFiles(t, out.Dir, "history/ops-000001.seg", "history/run.seg", "nodes/r1.log")
	pages, err := filepath.Glob(filepath.Join(out.Dir, "anomalies", "*.html"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)

	again, err := results.Recheck(t.Context(), out.Dir)
	require.NoError(t, err)
	require.True(t, again.Plan.StopOnFirst, "the plan keeps it")
}

// A single client makes the script that compares numbers as text repeat a number at the 79th call, on any machine.
func TestTheFirstDuplicateIsFoundAtCall79(t *testing.T) {
	out := execute(t, plan.Plan{Variant: "sequence/string-compare-hash", Regime: "fixed", Clients: 1,
		Duration: time.Second, Rate: -1})
	require.EqualValues(t, 79, figure(out, "sequence", "first duplicate at call"))
	require.Equal(t, harness.Invalid, out.Report.Judged.Judgements[0].Verdict)
	gates := out.Report.Judged.Judgements[len(out.Report.Judged.Judgements)-1]
	require.Equal(t, harness.Unknown, gates.Verdict, "one client makes no contention")
}

// met runs plans, each of which has to show what its variant documents.
func met(t *testing.T, plans ...plan.Plan) {
	t.Helper()
	for _, p := range plans {
		t.Run(p.Name(), func(t *testing.T) {
			out := execute(t, p)
			require.True(t, out.Met, "expected %s", out.Expectation)
		})
	}
}

func TestWhatIsDocumentedIsFound(t *testing.T) {
	t.Parallel()
	met(t,
		plan.Plan{Variant: "lock/set-nx-px", Clients: 20, Keys: 5, TTL: 200 * time.Millisecond, Rate: gentle,
			Duration: 2 * time.Second},
		until(plan.Plan{Variant: "dedup/get-set"}),
		plan.Plan{Variant: "sequence/numeric-compare-hash", Regime: "growing", Rate: gentle, Duration: time.Second},
	)
}

func TestLongWhatIsDocumentedIsFound(t *testing.T) {
	testenv.NeedLong(t)
	met(t,
		until(plan.Plan{Variant: "lock/set-nx-px-blind-del", Clients: 50, Keys: 5, TTL: 200 * time.Millisecond}),
		// what it leaves behind shows in the end
		plan.Plan{Variant: "lock/setnx-expire", Clients: 50, Keys: 5, Rate: -1},
		plan.Plan{Variant: "dedup/get-set-lua", Rate: gentle, Duration: 3 * time.Second}, // windows have to end
		plan.Plan{Variant: "sequence/incr", Rate: gentle, Duration: time.Second},
		plan.Plan{Variant: "writes/sadd", Rate: gentle, Duration: time.Second},
	)
	for _, variant := range []string{"sequence/string-compare-hash", "sequence/numeric-compare-hash",
		"sequence/digits-compare"} {
		for _, regime := range []string{"fixed", "growing", "timestamp17"} {
			met(t, plan.Plan{Variant: variant, Regime: regime, Rate: gentle, Duration: 2 * time.Second})
		}
	}
}

func TestLongASplitBrainGrantsTwiceAndLosesWritesOfTheCutSideOnly(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	out := execute(t, plan.Plan{
		Variant: "lock/set-nx-px", Nemesis: []string{"partition-primary"}, With: []string{"writes/sadd"},
		FaultFor: 10 * time.Second, // Sentinels may need a second election
		Clients:  50, Rate: 2000, Duration: time.Second,
	})
	require.True(t, out.Met, "expected %s", out.Expectation)
	j := out.Report.Judged
	require.Positive(t, j.Totals[harness.DoubleGrant])
	require.Positive(t, j.Totals[harness.LostWrite])
	require.Positive(t, j.Certified)
	require.Positive(t, figure(out, "writes", "lost from cut groups"))
	require.Empty(t, lostBeside(out.Report.History, j.Anomalies))
	require.Len(t, out.Report.Failovers, 1)
}

// lostBeside lists the lost writes of the client groups on the larger side of a history's one partition. It leaves out
// writes that began before the partition was in force: their answers may outrun the replication.
func lostBeside(h harness.History, found []harness.Anomaly) (lost []harness.Op) {
	cut := h.Faults[0]
	for _, a := range found {
		last := a.Ops[len(a.Ops)-1] // the last operation of one client
		other := !slices.Contains(cut.Groups, h.Meta.Group(last.Client))
		if a.Class == harness.LostWrite && other && cut.Active < last.Call && last.Return <= cut.Heal {
			lost = append(lost, last)
		}
	}
	return lost
}

func TestAKillIsAFailoverWithItsStages(t *testing.T) {
	t.Parallel()
	out := execute(t, plan.Plan{
		// Sentinels may need a second election
		Variant: "sequence/incr", Nemesis: []string{"kill-primary"}, FaultFor: 10 * time.Second,
		Clients: 20, Rate: gentle, Duration: time.Second,
	})
	require.True(t, out.Met, "expected %s", out.Expectation)
	require.True(t, out.Report.History.Faults[0].Proved)
	require.Len(t, out.Report.Failovers, 1)
	again, err := results.Recheck(t.Context(), out.Dir)
	require.NoError(t, err)
	require.Equal(t, out.Report.Judged.Judgements, again.Report.Judged.Judgements, "by the same faults")
	require.Equal(t, out.Report.Failovers, again.Report.Failovers)
}

// TestWantOfACompilerIsTheEnvironments checks that a missing compiler is not a usage error: no other plan would do
// better.
func TestWantOfACompilerIsTheEnvironments(t *testing.T) {
	t.Setenv("CC", "/nowhere/cc")
	o := results.Options{Results: t.TempDir()}
	_, err := results.Execute(t.Context(), plan.Plan{Variant: "sequence/incr", Nemesis: []string{"clock-step-forward"}},
		o)
	require.ErrorIs(t, err, cluster.ErrNoCompiler)
	require.NotErrorIs(t, err, plan.ErrUsage)
	require.ErrorContains(t, err, `"/nowhere/cc" cannot be run: install it`)
}

func TestOpenPacingIsKept(t *testing.T) {
	out := execute(t, plan.Plan{Variant: "sequence/incr", Clients: 20, Duration: time.Second, Rate: 1000,
		Pacing: plan.OpenPacing})
	require.Equal(t, harness.Valid, out.Report.Judged.Verdict, out.Report.Judged.Summary())
	require.True(t, out.Report.History.Meta.Open)
	require.Contains(t, out.Plan.Command(), "--pacing=open")
	var due []time.Duration
	for op, err := range out.Report.History.Ops {
		require.NoError(t, err)
		require.Positive(t, op.Due, "every number is a step of its own")
		due = append(due, op.Due)
	}
	steps := float64(len(due)) / (slices.Max(due) - slices.Min(due)).Seconds()
	require.InEpsilon(t, 1000, steps, 0.5, "steps a second by the plan, whatever the machine could do")
}

// smallDisk mounts a disk of the given size. Where that is not allowed, the test is skipped.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		testenv.LeftOut(t, "full disks", "run the tests as root, who may mount one")
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

func TestAFullDiskEndsTheRunAndLeavesAReport(t *testing.T) {
	disk := smallDisk(t, "1250k")
	out, err := results.Execute(t.Context(),
		plan.Plan{Variant: "sequence/incr", Clients: 20, Duration: time.Hour, Rate: -1}, results.Options{Results: disk})
	require.ErrorIs(t, err, history.ErrFull)
	require.Equal(t, harness.Unknown, out.Report.Judged.Verdict)
	require.Contains(t, out.Report.Judged.Summary(), "no space left on the disk")
	require.Positive(t, figure(out, "gates", "ops"))
	requireFiles(t, out.Dir, "report.html", "verdict.json")
	again, err := results.Recheck(t.Context(), out.Dir)
	require.NoError(t, err)
	require.Equal(t, out.Report.Judged.Judgements, again.Report.Judged.Judgements)
}

// A violation that watchers found before the disk was full is in the record, and decides the verdict.
func TestAViolationIsAViolationThoughTheDiskIsFull(t *testing.T) {
	told := 0
	out, err := results.Execute(t.Context(),
		plan.Plan{Variant: "sequence/get-set", Clients: 20, Duration: time.Hour, Rate: -1}, results.Options{
			Results: smallDisk(t, "1250k"), OnViolation: func(a harness.Anomaly,
				_ time.Duration) {
				told += a.Violations()
			},
		})
	require.ErrorIs(t, err, history.ErrFull)
	require.Equal(t, harness.Invalid, out.Report.Judged.Verdict)
	found := 0
	for _, n := range out.Report.Judged.Totals {
		found += n
	}
	require.Positive(t, told)
	require.GreaterOrEqual(t, found, told)
}

func TestADiskThatIsFullFromTheStartSaysSo(t *testing.T) {
	_, err := results.Execute(t.Context(), plan.Plan{Variant: "sequence/incr", Duration: time.Second},
		results.Options{Results: smallDisk(t, "100k")})
	require.ErrorContains(t, err, "keep space for the end of the run")
	require.ErrorIs(t, err, history.ErrFull)
}
