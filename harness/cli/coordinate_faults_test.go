package cli_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// fleet is a coordinator and its workers, each in its own process.
type fleet struct {
	*testing.T
	args        []string
	state       string
	coordinator process
	workers     []process
	killed      int // how many workers are killed, from the first on
}

// startFleet starts a coordinator and its workers.
func startFleet(t *testing.T, workers int, args ...string) *fleet {
	t.Helper()
	f := &fleet{T: t, state: filepath.Join(t.TempDir(), "state")}
	f.args = slices.Concat([]string{"coordinate"}, args, []string{"--state", f.state, "--lease", "3s"})
	f.coordinator = start(t, f.args...)
	for range workers {
		f.join()
	}
	return f
}

var joinURL = regexp.MustCompile(`--join[= ](\S+)`)

// join starts one more worker.
func (f *fleet) join() {
	f.Helper()
	f.coordinator.says("to join")
	url := joinURL.FindStringSubmatch(f.coordinator.output.String())[1]
	f.workers = append(f.workers, start(f.T, "work", "--join", url, "--token-file", filepath.Join(f.state, "token")))
}

// result waits for the end, and returns the coordinator's standard output, which begins with a brace. code is its
// expected exit code. Workers have to exit with 0, whatever happened to others.
func (f *fleet) result(code int) interleave.Result {
	f.Helper()
	is := f.coordinator.exitCode()
	text := f.coordinator.output.String()
	require.Equal(f, code, is, text)
	for i, w := range f.workers {
		if is := w.exitCode(); i >= f.killed {
			require.Equal(f, cli.ExitMet, is, w.output)
		}
	}
	require.NoDirExists(f, f.state, "nothing is left of it")
	start := strings.Index(text, "{\n")
	require.GreaterOrEqual(f, start, 0, text)
	end := strings.LastIndex(text, "\n}")
	return cameTo(f.T, text[start:end+2])
}

// fleetFaults lists faults of a coordination.
var fleetFaults = map[string]func(f *fleet){
	"a worker is killed": func(f *fleet) {
		require.NoError(f, f.workers[0].Process.Kill())
		f.killed = 1
		f.join()
	},
	"a worker is cut off for longer than its lease": func(f *fleet) {
		require.NoError(f, f.workers[0].Process.Signal(syscall.SIGSTOP))
		time.Sleep(4 * time.Second) // longer than the lease of 3s; a suspended process shows no condition to wait for
		require.NoError(f, f.workers[0].Process.Signal(syscall.SIGCONT))
	},
	"the coordinator is killed": func(f *fleet) {
		require.NoError(f, f.coordinator.Process.Kill())
		f.coordinator.exitCode()
		f.coordinator = start(f.T, f.args...)
	},
}

// TestLongAFleetComesToTheSame kills or suspends processes at random moments. No piece may be lost or counted twice.
func TestLongAFleetComesToTheSame(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	search := []string{"explore", "lock/getset-deadline", "--clients", "2", "--crashes", "0", "--lost-answers", "1",
		"--unpruned", "-o", "json"}
	one, errs, code := newPlace(t).command(append(search, "--workers", "1")...)
	want := cameTo(t, one)
	require.Greater(t, want.Schedules, 5000, "or it was one piece or two: %s", errs)
	for i, name := range slices.Sorted(maps.Keys(fleetFaults)) {
		t.Run(fmt.Sprint(i), func(t *testing.T) { // a short name, since socket paths include it
			t.Log(name)
			f := startFleet(t, 2, search...)
			f.workers[0].await(func() bool {
				return strings.Contains(f.workers[0].output.String()+f.workers[1].output.String(), "done in")
			}, "a piece that is done: %v %v", f.coordinator.output, f.workers[1].output)
			after := rand.N(time.Second)
			time.Sleep(after) // the moment is random, so there is no condition to wait for
			fleetFaults[name](f)
			require.Equal(t, want, f.result(code), "after %v", after)
		})
	}
}

// TestAFleetOfThreeRunsASuite runs a suite by three workers. None of its files may contain the token.
func TestAFleetOfThreeRunsASuite(t *testing.T) {
	t.Parallel()
	file := newPlace(t).write("mine.yaml",
		"name: mine\ndefaults: {clients: 10, duration: 500ms, rate: 300, pacing: closed}\nruns:\n"+
			"  - {variant: sequence/incr, expect: valid, seed: 4, times: 2}\n"+
			"  - {name: search, variant: lock/setnx, explore: {clients: 2}, expect: documented}\n")
	f := startFleet(t, 3, "suite", file)
	token, err := os.ReadFile(filepath.Join(f.state, "token"))
	require.NoError(t, err)
	require.Equal(t, cli.ExitMet, f.coordinator.exitCode(), f.coordinator.output)
	for _, p := range append(f.workers, f.coordinator) {
		require.Equal(t, cli.ExitMet, p.exitCode(), p.output)
		p.keepsSecret(strings.TrimSpace(string(token)))
	}
	require.Contains(t, f.coordinator.output.String(), "PASSED  3 of 3 runs ended as expected, in ")
	require.FileExists(t, filepath.Join(f.coordinator.dir, "results/latest/index.html"))
	require.NoDirExists(t, f.state)
}

// keepsSecret checks that neither the output nor the files of the process contain the secret.
func (p process) keepsSecret(secret string) {
	p.Helper()
	haveNone(p.T, []string{secret}, "what it printed", p.output.String())
	filesHaveNone(p.T, []string{secret}, p.dir)
}

// TestBadInputOfAFleet checks that bad input is answered by one line.
func TestBadInputOfAFleet(t *testing.T) {
	lines := map[string]string{
		"no --join: give the URL of NATS":          "work",
		"--token-file: open none":                  "work --join nats://127.0.0.1:1 --token-file none",
		"--workers 0: ask for 1 to 64":             "coordinate explore lock/setnx --workers 0",
		"--lease 1s: workers report once a second": "coordinate suite @/mine.yaml --lease 1s",
		"--nats names a running one": "coordinate suite @/mine.yaml --nats nats://127.0.0.1:1 --listen " +
			"127.0.0.1",
		"is not an address to listen on":   "coordinate suite @/mine.yaml --listen 127.0.0.1:many",
		"--give-up-after 0s: ask for more": "coordinate suite @/mine.yaml --give-up-after 0",
		`unknown command "sweet"`:          "coordinate sweet",
	}
	for i, flag := range []string{
		"--token-file=t", "--credentials=c", "--tls-ca=c", "--name=n", "--state=s", "--lease=9s", "--store-limit=9",
		"--give-up-after=9s",
	} {
		name, _, _ := strings.Cut(flag, "=")
		lines[name+" needs a NATS server, and --workers"] = "coordinate suite @/mine.yaml --workers 1 " + flag
		if i < 3 {
			lines[name+" needs a running NATS server"] = "coordinate suite @/mine.yaml " + flag
		}
	}
	const suite = "name: mine\nruns: [{variant: sequence/incr}]\n"
	refused(t, map[string]string{"mine.yaml": suite}, lines)
	p := newPlace(t, "DOUBLEGRANT_NATS_TOKEN=canary-token")
	p.write("mine.yaml", suite)
	for _, args := range [][]string{
		{"work", "--join", "nats://127.0.0.1:1", "--give-up-after", "200ms"},
		{"coordinate", "suite", "mine.yaml", "--nats", "nats://127.0.0.1:1", "--give-up-after", "200ms"},
		{"run", "lock/set-nx-px", "--generators", "2", "--nats", "nats://127.0.0.1:1", "--give-up-after", "200ms"},
	} {
		_, errs := p.ends(cli.ExitFailed, args...)
		require.Contains(t, errs, "127.0.0.1:1: gave up after 200ms")
		require.LessOrEqual(t, strings.Count(errs, "\n"), 4, errs) // others say that NATS is tried again, and for whom
		require.NotContains(t, errs, "canary")
	}
	require.NoDirExists(t, filepath.Join(p.dir, "results"))
}

// TestAWorkerThatIsNotWanted covers a worker that must refuse the work, and a second coordinator, which is refused.
func TestAWorkerThatIsNotWanted(t *testing.T) {
	t.Parallel()
	file := newPlace(t).write("mine.yaml",
		"name: mine\nruns: [{name: theirs, adapter: {as: lock, command: [python3, none.py]}}]\n")
	f := startFleet(t, 1, "suite", file)
	require.Equal(t, cli.ExitUsage, f.workers[0].exitCode(), f.workers[0].output)
	require.Contains(t, f.workers[0].output.String(), "allow that with --allow-adapters")
	_, errs := newPlace(t).ends(cli.ExitUsage, f.args...)
	require.Contains(t, errs, "another coordinator with this name is running: it uses "+f.state)
	require.NoError(t, f.coordinator.Process.Signal(os.Interrupt))
	require.Equal(t, cli.ExitUnknown, f.coordinator.exitCode(), f.coordinator.output)
	require.Contains(t, f.coordinator.output.String(), "run the same command again to continue")
}

// TestANATSThatGoesAwayEndsBoth checks that coordinator and worker exit with code 3, and that the loss is reported
// once, not by each worker of the process. A search under several regimes does not go on with the later regimes.
func TestANATSThatGoesAwayEndsBoth(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	s, err := jetstream.Serve(state, "127.0.0.1")
	require.NoError(t, err)
	at := []string{"--nats", s.Access.URL, "--token-file", filepath.Join(state, jetstream.TokenFile), "--give-up-after",
		"2s"}
	coordinator := start(t, append([]string{"coordinate", "explore", "sequence/digits-compare", "--clients", "4",
		"--unpruned", "--workers", "3"}, at...)...)
	at[0] = "--join"
	worker := start(t, append([]string{"work"}, at...)...)
	worker.says("done in") // so the others are at work as well, or have been
	require.NoError(t, s.Stop())
	for _, p := range []process{worker, coordinator} {
		require.Equal(t, cli.ExitFailed, p.exitCode(), p.output)
		require.Contains(t, p.output.String(), "the work queue cannot be reached")
	}
	said := coordinator.output.String()
	require.Equal(t, 1, strings.Count(said, "lost the connection to "), said)
	_, after, _ := strings.Cut(said, "lost the connection to ")
	require.LessOrEqual(t, strings.Count(after, "] sequence/digits-compare, regime"), 1,
		"it went on regime by regime: %s", said)
}

// TestTheJoinLineOfAllAddresses checks that the command to join names this machine if the NATS listens on 0.0.0.0.
func TestTheJoinLineOfAllAddresses(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	require.NoError(t, err)
	p := start(t, "coordinate", "explore", "lock/setnx", "--listen", "0.0.0.0")
	p.says("to join")
	require.Contains(t, p.output.String(), "--join nats://"+host+":")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, cli.ExitUnknown, p.exitCode(), p.output)
}

// TestTheTokenLeavesTheEnvironment checks that child processes do not inherit the token, even if it is unused.
func TestTheTokenLeavesTheEnvironment(t *testing.T) {
	for _, line := range []string{"coordinate suite ci --listen 127.0.0.1:many", "coordinate suite ci --nats x",
		"work --join x"} {
		t.Setenv("DOUBLEGRANT_NATS_TOKEN", "canary-token")
		ends(t, cli.ExitUsage, strings.Fields(line)...)
		require.Empty(t, os.Getenv("DOUBLEGRANT_NATS_TOKEN"), line)
	}
}
