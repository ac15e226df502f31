package cli_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// killed starts doublegrant, kills it as soon as ready returns, and waits until all its Redis processes have ended. It
// returns the time of the kill and the path of the run's results folder.
func killed(t *testing.T, ready func(process), args ...string) (at time.Time, dir string) {
	t.Helper()
	p := start(t, args...)
	ready(p)
	at = time.Now()
	require.NoError(t, p.Process.Kill())
	require.Equal(t, -1, p.exitCode(), "it ended by itself: %s", p.output)
	p.awaitServers(0)
	dirs, err := filepath.Glob(filepath.Join(p.dir, "results/2*"))
	require.NoError(t, err)
	require.Len(t, dirs, 1)
	return at, dirs[0]
}

// underLoad waits until operations are recorded, and then for a random time.
func underLoad(p process) {
	p.awaitOperations()
	time.Sleep(rand.N(500 * time.Millisecond)) // the moment is random, not awaited
}

// TestLongTheRecordOfAKilledRunIsThereUpToTheLastMoment kills runs with a rate too low to fill a buffer. If the record
// were written only when a buffer is full, it would be minutes behind.
func TestLongTheRecordOfAKilledRunIsThereUpToTheLastMoment(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	var behind []time.Duration
	for range 5 {
		at, dir := killed(t, underLoad, "run", "sequence/incr", "--clients", "20", "--rate", "50", "--pacing", "closed",
			"--topology", "standalone", "--duration", "10m")
		out, _ := ends(t, cli.ExitUnknown, "check", dir)
		require.Contains(t, unbroken(out), "the record stops before the run did")
		h, err := results.OpenHistory(dir)
		require.NoError(t, err)
		require.Nil(t, h.End)
		last := time.Duration(0)
		for op, err := range h.Ops {
			require.NoError(t, err)
			last = op.Return
		}
		behind = append(behind, at.Sub(h.Meta.Started.Add(last)))
	}
	slices.Sort(behind)
	t.Logf("the record stops before the kill by %v", behind)
	require.Less(t, behind[len(behind)/2], 10*time.Second, "%v", behind)
}

func TestARunThatWasKilledIsJudgedByItsRecord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variant, topology, finds string
		code                     int
	}{
		{"sequence/incr", "sentinel", "UNKNOWN", cli.ExitUnknown},
		{"sequence/get-set", "standalone", "duplicate-number", cli.ExitInvalid},
	} {
		_, dir := killed(t, underLoad, "run", c.variant, "--topology", c.topology, "--duration", "1m")
		out, _ := ends(t, c.code, "check", dir)
		require.Contains(t, out, c.finds)
		require.Contains(t, unbroken(out), "the record stops before the run did")
		require.NoFileExists(t, filepath.Join(dir, "report.html"))
		ends(t, c.code, "report", dir)
		require.FileExists(t, filepath.Join(dir, "report.html"))
	}
}

// underFault waits until a fault is in force, and then for a random moment.
func underFault(p process) {
	p.Helper()
	p.await(func() bool {
		dirs, _ := filepath.Glob(filepath.Join(p.dir, "results/2*"))
		if len(dirs) == 0 {
			return false
		}
		h, err := results.OpenHistory(dirs[0])
		return err == nil && len(h.Faults) > 0 && h.Faults[0].Active > 0
	}, "a fault in force")
	time.Sleep(rand.N(500 * time.Millisecond)) // the moment is random, not awaited
}

// A fault is recorded when it begins. So the record of a run that is killed later shows what caused its violations.
func TestARunThatIsKilledUnderAFaultHasItOnRecord(t *testing.T) {
	t.Parallel()
	_, dir := killed(t, underFault, "run", "lock/set-nx-px", "--nemesis", "partition-primary", "--fault-for", "1m",
		"--clients", "50")
	h, err := results.OpenHistory(dir)
	require.NoError(t, err)
	require.Len(t, h.Faults, 1)
	f := h.Faults[0]
	require.Equal(t, "partition-primary", f.Name)
	require.Equal(t, harness.CutsLinks, f.Effects)
	require.NotEmpty(t, f.Targets)
	require.Positive(t, f.Start)
	require.Zero(t, f.Heal)
	require.Zero(t, f.End)

	out, errs, code := run(t, "check", dir)
	require.Contains(t, []int{cli.ExitInvalid, cli.ExitUnknown}, code, errs)
	require.Contains(t, unbroken(out), "the fault partition-primary at")
	require.NotContains(t, unbroken(out), "0 operations during")
	_, errs, _ = run(t, "report", dir)
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err, errs)
	require.Contains(t, string(page), `data-label="fault">partition-primary</td>`)
	require.Contains(t, string(page), "not on record")
}

func TestAKilledCheckLeavesNoFolder(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "check", "--history", "-", "--model", "lock")
	_, err := cmd.StdinPipe() // which never ends
	require.NoError(t, err)
	p := newPlace(t).startAs(cmd)
	p.await(func() bool { return len(p.folders()) == 1 }, "its folder")
	require.NoError(t, p.Process.Kill())
	_ = p.Wait()
	p.await(func() bool { return len(p.folders()) == 0 }, "the end of its folder")
}
