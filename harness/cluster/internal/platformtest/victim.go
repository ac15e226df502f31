package platformtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/internal/processes"
)

// asHarness is the environment variable that makes the test binary run clusters instead of tests. Its value is the task
// of that process. Tests kill the process to see what it leaves behind.
const asHarness = "DOUBLEGRANT_TEST_AS_HARNESS"

// Tasks of a harness that is to be killed.
const (
	busy = "busy" // starts clusters, kills and restarts their primaries and stops them, until it is killed itself
	idle = "idle" // starts one cluster of six nodes, prints the result, and does nothing until its standard input ends
)

// Main runs the tests, or the victim's task in a process that NewVictim has started. It ends the process. TestMain
// calls it. The parameter more holds further tasks, which only this test binary has, by name. A task returns its exit
// code.
func (p Platform) Main(m *testing.M, more map[string]func() int) {
	switch as := os.Getenv(asHarness); as {
	case "":
		os.Exit(m.Run())
	case busy:
		os.Exit(p.busy())
	case idle:
		os.Exit(p.idle())
	default:
		os.Exit(more[as]())
	}
}

func (p Platform) busy() int {
	for {
		c := cluster.Sentinel(p.Options)
		if err := errors.Join(Begin(c), c.Kill("r1"), c.Restart(context.Background(), "r1"), c.Stop()); err != nil {
			fmt.Println(err)
			return 1
		}
	}
}

func (p Platform) idle() int {
	c := cluster.Sentinel(p.Options)
	fmt.Println("start", Begin(c))
	_, _ = io.Copy(io.Discard, os.Stdin)
	if c.Stop() != nil {
		return 1
	}
	return 0
}

// Begin starts a cluster in a victim, where there is no testing.T. It drops the cluster's events and log.
func Begin(c *cluster.Cluster) error {
	return c.Start(context.Background(), harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler))
}

// Victim is a harness in a process of its own, which a test kills.
type Victim struct {
	*exec.Cmd
	tmp string
}

// NewVictim prepares a victim without starting it. The task is "busy", "idle" or one of the other tasks of Main. The
// victim is killed when the test ends.
func NewVictim(t *testing.T, task string) Victim {
	t.Helper()
	v := Victim{exec.Command(os.Args[0]), os.TempDir()}
	v.Dir = v.tmp // its children are found by their working folder
	v.Env = append(os.Environ(), asHarness+"="+task)
	t.Cleanup(func() {
		if v.Process != nil {
			v.kill()
		}
	})
	return v
}

func (v Victim) start(t *testing.T) {
	t.Helper()
	require.NoError(t, v.Start())
}

func (v Victim) kill() {
	_ = v.Process.Kill()
	_ = v.Wait()
}

// watchdogs returns the process ids of the victim's watchdogs. A watchdog's environment names the process that it
// watches.
func (v Victim) watchdogs() (all []int) {
	for _, pid := range processes.All() {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && strings.Contains(string(env), fmt.Sprintf("_WATCHDOG_OF=%d\x00", v.Process.Pid)) {
			all = append(all, pid)
		}
	}
	return all
}
