package adapter_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

// A crash that kills the process gives the same result as one that cuts the process off from Redis. The next schedule
// has a new process.
func TestARealCrashShowsWhatACrashShows(t *testing.T) {
	crashed := func(real bool) interleave.Result {
		c := lock("blind")
		c.RealCrash = real
		s := searchOf(t, c, interleave.TCP)
		s.LostAnswers, s.Workers = -1, 1
		res := searched(t, s)
		require.NotEqual(t, harness.Unknown, res.Verdict(), res.Stopped)
		return comparable(res)
	}
	require.Equal(t, crashed(false), crashed(true))
}

// A process is replaced if its client crashes while the process asks for the time, both if the crash kills the process
// and if the process goes on asking.
func TestACrashDuringAQuestion(t *testing.T) {
	for mode, real := range map[string]bool{"asks": true, "waits": false} {
		t.Run(mode, func(t *testing.T) {
			c := lock(mode)
			c.RealCrash = real
			s := searchOf(t, c, interleave.TCP)
			s.LostAnswers, s.Crashes, s.Expiries = -1, 1, -1
			res := searched(t, s)
			require.True(t, res.Exhausted, res.Stopped)
			require.NotEmpty(t, res.Schedules)
		})
	}
}

// listen starts a lock that listens on a Unix socket, and serves each connection by a process of its own.
func listen(t *testing.T, mode string) (c workloads.Adapter, connections *atomic.Int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	connections = &atomic.Int64{}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			file, err := conn.(*net.UnixConn).File()
			if err != nil {
				return
			}
			cmd := exec.Command(os.Args[0], fakeWord, mode)
			cmd.Stdin, cmd.Stdout = file, file
			_ = cmd.Start()
			_, _ = file.Close(), conn.Close()
			go cmd.Wait()
		}
	}()
	return workloads.Adapter{As: workloads.Lock, Connect: "unix:" + path, Can: []string{"acquire", "release"},
		Name: mode}, connections
}

// A program that listens on a socket is searched, and loaded, as one that was started.
func TestAProgramThatListens(t *testing.T) {
	c, _ := listen(t, "blind")
	started := searched(t, searchOf(t, lock("blind"), interleave.TCP))
	require.Equal(t, comparable(started), comparable(searched(t, searchOf(t, c, interleave.TCP))))
	require.Positive(t, outcomes(load(t, variant(t, c)))[harness.OK])
}

// Under load each client group has as many processes as the adapter's settings say.
func TestClientsShareProcesses(t *testing.T) {
	c, connections := listen(t, "compare")
	c.Processes = 2
	load(t, variant(t, c)) // 8 clients in 5 groups, of which three have two; and the harness's own
	require.EqualValues(t, 8, connections.Load())
}

func TestClientsThatCannotBe(t *testing.T) {
	for want, c := range map[string]workloads.Adapter{
		"no command: give the program":             {},
		"both a command (a) and where to connect":  {Command: []string{"a"}, Connect: "unix:b"},
		"give unix: and the path":                  {Connect: "tcp:1"},
		"was not started here":                     {Connect: "unix:a", RealCrash: true},
		"it drives itself, so say what it is":      {Command: []string{"a"}, Announces: true},
		"a process for each client: leave connect": {Connect: "unix:a", Announces: true, As: workloads.Lock},
		`"queue" is not a family: choose`:          {Command: []string{"a"}, As: "queue"},
	} {
		_, err := adapter.Variant(c)
		require.ErrorContains(t, err, want)
	}
}

// driver is a fake adapter that drives itself as mode says.
func driver(mode string) workloads.Adapter {
	c := fakeOf(workloads.Lock, mode)
	c.Announces = true
	return c
}

// A test that drives itself is searched by what it announces.
func TestAProgramThatDrivesItself(t *testing.T) {
	for mode, invalid := range map[string]bool{"drives-blind": true, "drives-right": false} {
		t.Run(mode, func(t *testing.T) {
			s := searchOf(t, driver(mode), interleave.TCP)
			s.Expiries, s.Crashes, s.LostAnswers, s.First = 1, -1, -1, true
			res := searched(t, s)
			require.Equal(t, invalid, res.Verdict() == harness.Invalid, res.Stopped)
			require.Equal(t, !invalid, res.Verdict() == harness.Valid, res.Stopped)
			for _, found := range res.Counterexamples {
				require.NoError(t, explore.Replay(t.Context(), s, found, 3))
				for _, s := range found.Steps {
					require.NotContains(t, strings.ToUpper(s.Command), "ECHO", "an announcement is no step")
				}
			}
		})
	}
	require.Empty(t, processes(t))
}

// strike is a nemesis that calls do.
type strike struct {
	name string
	do   func(ctx context.Context) error
}

func (s strike) Name() string { return s.name }

func (s strike) Inject(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
	return harness.Injection{Bite: "seen"}, s.do(ctx)
}

// states returns the state of each process, such as "T" for a stopped one.
func states(t *testing.T) (all []string) {
	for _, path := range processes(t) {
		status, _ := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(status), "\nState:\t")
		all = append(all, rest[:min(1, len(rest))])
	}
	return all
}

// Freezing a group stops its process, which then continues. Crashing the group kills the process, which is replaced.
func TestNemesesStrikeProcesses(t *testing.T) {
	const clients = 4
	fleet := &harness.Fleet{}
	c := cluster.Standalone(cluster.Options{Clients: clients, ClientGroups: 1})
	v := variant(t, lock("compare"))
	w := v.Workload(c, workloads.Options{Keys: 2, TTL: 500 * time.Millisecond})
	until := func(ctx context.Context, yes func() bool) error {
		return await.Poll(ctx, time.Millisecond, func() (again bool, err error) { return !yes(), nil })
	}
	freeze := strike{"freeze", func(ctx context.Context) error {
		if err := until(ctx, func() bool { return len(processes(t)) == 1 }); err != nil {
			return err
		}
		resume := fleet.Pause(0)
		if err := until(ctx,
			func() bool { return fmt.Sprint(states(t)) == "[T]" && fleet.AtCheckpoint(0) == clients }); err != nil {
			return err
		}
		resume()
		return until(ctx, func() bool { return fmt.Sprint(states(t)) != "[T]" })
	}}
	crash := strike{"crash", func(ctx context.Context) error {
		before := fmt.Sprint(processes(t))
		fleet.Crash(0, rand.New(rand.NewPCG(1, 1)))
		return until(ctx, func() bool { now := processes(t); return len(now) == 1 && fmt.Sprint(now) != before })
	}}
	res, err := harness.Run(t.Context(), harness.Spec{
		Name: v.ID, System: c, Workload: w, Clients: clients, Duration: 3 * time.Second, Checkers: checkers.For(w),
		Seed: 1, Fleet: fleet,
		Faults: []harness.TimedFault{{After: 300 * time.Millisecond, Nemesis: freeze},
			{After: 300 * time.Millisecond, Nemesis: crash}},
	})
	require.NoError(t, err)
	require.Positive(t, outcomes(res)[harness.Info], "what was under way in the process that was killed")
}
