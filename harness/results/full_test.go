package results_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/history"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

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
	out, err := results.Execute(t.Context(), plan.Plan{Variant: "sequence/incr", Clients: 20, Duration: time.Hour, Rate: -1}, results.Options{Results: disk})
	require.ErrorIs(t, err, history.ErrFull)
	require.ErrorContains(t, err, "no space left on the disk: free some")
	require.Equal(t, harness.Unknown, out.Report.Judged.Verdict)
	require.Contains(t, out.Report.Judged.Summary(), "no space left on the disk")
	require.Positive(t, figure(out, "gates", "ops"))
	for _, name := range []string{"report.html", "verdict.json"} {
		info, err := os.Stat(filepath.Join(out.Dir, name))
		require.NoError(t, err)
		require.NotZero(t, info.Size(), name)
	}
	again, err := results.Recheck(t.Context(), out.Dir)
	require.NoError(t, err)
	require.Equal(t, harness.Unknown, again.Report.Judged.Verdict)
	require.Equal(t, out.Report.Judged.Judgements, again.Report.Judged.Judgements)
}

// A violation that watchers found before the disk was full is in the record, and decides the verdict.
func TestAViolationIsAViolationThoughTheDiskIsFull(t *testing.T) {
	told := 0
	out, err := results.Execute(t.Context(), plan.Plan{Variant: "sequence/get-set", Clients: 20, Duration: time.Hour, Rate: -1}, results.Options{
		Results: smallDisk(t, "1250k"), Found: func(a harness.Anomaly, _ time.Duration) { told += a.Violations() },
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
	_, err := results.Execute(t.Context(), plan.Plan{Variant: "sequence/incr", Duration: time.Second}, results.Options{Results: smallDisk(t, "100k")})
	require.ErrorContains(t, err, "keep space for the end of the run")
	require.ErrorIs(t, err, history.ErrFull)
}
