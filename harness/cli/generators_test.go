package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

func TestARunByGeneratorsOfThisMachine(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	out, _ := p.ends(cli.ExitInvalid, "run", "lock/set-nx-px-blind-del", "--generators", "2", "--clients", "20",
		"--rate", "1000", "--pacing", "closed", "--duration", "1m", "--stop-on-first", "-v")
	require.Contains(t, unbroken(out), "clocks known to within")
	require.Contains(t, unbroken(out), "as its documentation says")
	require.Empty(t, p.folders())
	p.ends(cli.ExitInvalid, "check", "results/latest")
}

// TestAGeneratorThatIsKilled checks that the run fails without a violation, since its record is incomplete.
func TestAGeneratorThatIsKilled(t *testing.T) {
	t.Parallel()
	p := start(t, "run", "lock/set-nx-px", "--generators", "3", "--clients", "30", "--rate", "300", "--pacing",
		"closed", "--duration", "1m")
	p.awaitOperations()
	pids := p.started("work")
	require.Len(t, pids, 3)
	require.NoError(t, syscall.Kill(pids[1], syscall.SIGKILL))
	require.Equal(t, cli.ExitFailed, p.exitCode(), p.output)
	told := regexp.MustCompile(`harness: (generator \d): generator process (\d+) ended \(signal: killed\): doublegrant: joined as (generator \d)`)
	words := told.FindStringSubmatch(p.output.String())
	require.Len(t, words, 4, p.output)
	require.Equal(t, strconv.Itoa(pids[1]), words[2])
	require.Equal(t, words[3], words[1], "it is told of the one that has ended")
	require.NotContains(t, p.output.String(), "INVALID")
	for _, pid := range pids {
		require.NoDirExists(t, fmt.Sprintf("/proc/%d", pid))
	}
	require.FileExists(t, filepath.Join(p.dir, "results/latest/report.html"))
	require.Empty(t, p.servers())
}

// TestGeneratorsEndWithTheirCoordinator kills the coordinator.
func TestGeneratorsEndWithTheirCoordinator(t *testing.T) {
	t.Parallel()
	p := start(t, "run", "lock/set-nx-px", "--generators", "2", "--clients", "20", "--rate", "200", "--pacing",
		"closed", "--duration", "1m")
	p.awaitOperations()
	pids := p.started("work")
	require.Len(t, pids, 2)
	require.NoError(t, p.Process.Kill())
	p.exitCode()
	for _, pid := range pids {
		p.await(func() bool { return !alive(pid) }, "the end of process %d", pid)
	}
}

// TestGeneratorsThatJoin starts generators by hand. Those that are needed join, a spare one ends with them, and no file
// contains their token.
func TestGeneratorsThatJoin(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	p := start(t, "run", "dedup/get-set", "--generators", "2", "--clients", "20", "--rate", "1000", "--pacing",
		"closed", "--duration", "3s", "--listen", "127.0.0.1", "--state", state)
	p.says("to join")
	url := joinURL.FindStringSubmatch(p.output.String())[1]
	token, err := os.ReadFile(filepath.Join(state, "token"))
	require.NoError(t, err)
	_, errs := newPlace(t).ends(cli.ExitUsage, "work", "--join", url)
	require.Contains(t, errs, "refuses the token or credentials")
	var workers []process
	for range 3 { // one is spare
		workers = append(workers, start(t, "work", "--join", url, "--token-file", filepath.Join(state, "token")))
	}
	p.says("generator 2 of 2")
	require.Equal(t, cli.ExitInvalid, p.exitCode(), p.output)
	for _, w := range append(workers, p) {
		if w.dir != p.dir {
			require.Equal(t, cli.ExitMet, w.exitCode(), w.output)
		}
		w.keepsSecret(strings.TrimSpace(string(token)))
	}
	require.NoDirExists(t, state, "nothing is left of it")
}
