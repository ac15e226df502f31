package cli_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// trials is how many random faults a coordination has to bear.
var trials = flag.Int("trials", 1, "coordinations that are struck by a fault at a random moment")

// fleet is a coordination in processes of their own.
type fleet struct {
	*testing.T
	args        []string
	state       string
	coordinator process
	workers     []process
	killed      int // of the workers, from the first
}

// startFleet starts a coordinator and its workers.
func startFleet(t *testing.T, workers int, args ...string) *fleet {
	t.Helper()
	f := &fleet{T: t, state: filepath.Join(t.TempDir(), "state")}
	f.args = append([]string{"coordinate"}, args...)
	f.args = append(f.args, "--state", f.state, "--lease", "3s")
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
	f.coordinator.says("workers join by")
	url := joinURL.FindStringSubmatch(f.coordinator.output.String())[1]
	f.workers = append(f.workers, start(f.T, "work", "--join", url, "--token-file", filepath.Join(f.state, "token")))
}

// result waits for the end, and returns what the coordinator printed on its standard output, which begins with a brace. code is what it has to
// exit with; workers exit well, whatever happened beside them.
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

// fleetFaults lists what may happen to a coordination.
var fleetFaults = map[string]func(f *fleet){
	"a worker is killed": func(f *fleet) {
		require.NoError(f, f.workers[0].Process.Kill())
		f.killed = 1
		f.join()
	},
	"a worker is cut off for longer than its lease": func(f *fleet) {
		require.NoError(f, f.workers[0].Process.Signal(syscall.SIGSTOP))
		time.Sleep(4 * time.Second) // the lease is 3s
		require.NoError(f, f.workers[0].Process.Signal(syscall.SIGCONT))
	},
	"the coordinator is killed": func(f *fleet) {
		require.NoError(f, f.coordinator.Process.Kill())
		f.coordinator.exitCode()
		f.coordinator = start(f.T, f.args...)
	},
}

// TestAFleetComesToTheSame whatever ends or stands still: no piece is lost, none counts twice.
func TestAFleetComesToTheSame(t *testing.T) {
	t.Parallel()
	search := []string{"explore", "lock/getset-deadline", "--clients", "2", "--crashes", "0", "--lost-answers", "1", "--unpruned", "-o", "json"}
	one, errs, code := command(t, t.TempDir(), append(search, "--workers", "1")...)
	want := cameTo(t, one)
	require.Greater(t, want.Schedules, 5000, "or it was one piece or two: %s", errs)
	names := []string{"the coordinator is killed", "a worker is killed", "a worker is cut off for longer than its lease"}
	chance := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	first := chance.IntN(len(names)) // one trial is of any
	for i := range *trials {
		name := names[(first+i)%len(names)]
		t.Run(fmt.Sprint(i), func(t *testing.T) { // a short name: sockets lie in folders that are named after it
			t.Log(name)
			f := startFleet(t, 2, search...)
			require.Eventually(t, func() bool {
				return strings.Contains(f.workers[0].output.String()+f.workers[1].output.String(), "done in")
			}, 20*time.Second, time.Millisecond, "%v %v %v", f.coordinator.output, f.workers[0].output, f.workers[1].output)
			after := time.Duration(chance.Int64N(int64(time.Second)))
			time.Sleep(after) // the moment is random, not awaited
			fleetFaults[name](f)
			require.Equal(t, want, f.result(code), "after %v", after)
		})
	}
}

// TestAFleetOfThreeRunsASuite and nothing that it writes has the token.
func TestAFleetOfThreeRunsASuite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: mine\ndefaults: {clients: 10, duration: 1s, rate: 500}\nruns:\n"+
		"  - {variant: sequence/incr, expect: valid, seed: 4, times: 2}\n"+
		"  - {name: search, variant: lock/setnx, explore: {clients: 2}, expect: documented}\n"), 0o644))
	f := startFleet(t, 3, "suite", file)
	token, err := os.ReadFile(filepath.Join(f.state, "token"))
	require.NoError(t, err)
	require.Equal(t, cli.ExitMet, f.coordinator.exitCode(), f.coordinator.output)
	for _, p := range append(f.workers, f.coordinator) {
		require.Equal(t, cli.ExitMet, p.exitCode(), p.output)
		p.keepsSecret(strings.TrimSpace(string(token)))
	}
	require.Contains(t, f.coordinator.output.String(), "PASSED  3 of 3 runs ended as expected, in 3 shards")
	require.FileExists(t, filepath.Join(f.coordinator.dir, "results/latest/index.html"))
	require.NoDirExists(t, f.state)
}

// keepsSecret checks that nothing that the process has printed or written has the secret.
func (p process) keepsSecret(secret string) {
	p.Helper()
	require.NotContains(p, p.output.String(), secret)
	require.NoError(p, filepath.WalkDir(p.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		require.False(p, strings.Contains(string(text), secret), path)
		return err
	}))
}

// TestBadInputOfAFleet is one line each.
func TestBadInputOfAFleet(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("DOUBLEGRANT_NATS_TOKEN", "canary-token")
	require.NoError(t, os.WriteFile("mine.yaml", []byte("name: mine\nruns: [{variant: sequence/incr}]\n"), 0o644))
	require.NoError(t, os.Mkdir("theirs", 0o755))
	require.NoError(t, os.WriteFile("theirs/token", []byte("a letter"), 0o644))
	for want, c := range map[string]struct {
		args []string
		code int
	}{
		"no --join: the coordinator prints":       {[]string{"work"}, cli.ExitUsage},
		`"x" is no URL of a NATS`:                 {[]string{"work", "--join", "x"}, cli.ExitUsage},
		"nats://127.0.0.1:1, tried for 200ms":     {[]string{"work", "--join", "nats://127.0.0.1:1", "--give-up-after", "200ms"}, cli.ExitFailed},
		"--token-file: open none":                 {[]string{"work", "--join", "nats://127.0.0.1:1", "--token-file", "none"}, cli.ExitUsage},
		"--workers 0: ask for 1 to 64":            {[]string{"coordinate", "suite", "mine.yaml", "--workers", "0"}, cli.ExitUsage},
		"--lease 1s: workers speak once a second": {[]string{"coordinate", "suite", "mine.yaml", "--lease", "1s"}, cli.ExitUsage},
		"cannot be the name of a coordination":    {[]string{"coordinate", "suite", "mine.yaml", "--name", "a b"}, cli.ExitUsage},
		"--nats names one that is there":          {[]string{"coordinate", "suite", "mine.yaml", "--nats", "nats://127.0.0.1:1", "--listen", "127.0.0.1"}, cli.ExitUsage},
		"is no address to listen on":              {[]string{"coordinate", "suite", "mine.yaml", "--listen", "127.0.0.1:many"}, cli.ExitUsage},
		"127.0.0.1:1, tried for 100ms":            {[]string{"coordinate", "suite", "mine.yaml", "--nats", "nats://127.0.0.1:1", "--give-up-after", "100ms"}, cli.ExitFailed},
		"--token-file is of a NATS, and with":     {[]string{"coordinate", "suite", "mine.yaml", "--workers", "1", "--token-file", "t"}, cli.ExitUsage},
		"--credentials is of a NATS, and":         {[]string{"coordinate", "suite", "mine.yaml", "--workers", "1", "--credentials", "c"}, cli.ExitUsage},
		"--tls-ca is of a NATS, and with":         {[]string{"coordinate", "suite", "mine.yaml", "--workers", "1", "--tls-ca", "c"}, cli.ExitUsage},
		"--name is of a NATS, and with":           {[]string{"coordinate", "explore", "lock/setnx", "--workers", "1", "--name", "n"}, cli.ExitUsage},
		"--state is of a NATS, and with":          {[]string{"coordinate", "suite", "mine.yaml", "--workers", "1", "--state", "s"}, cli.ExitUsage},
		"--lease is of a NATS, and with":          {[]string{"coordinate", "suite", "mine.yaml", "--workers", "1", "--lease", "9s"}, cli.ExitUsage},
		"--store-limit is of a NATS, and":         {[]string{"coordinate", "suite", "mine.yaml", "--workers", "1", "--store-limit", "9"}, cli.ExitUsage},
		"--give-up-after is of a NATS, and":       {[]string{"coordinate", "suite", "mine.yaml", "--workers", "1", "--give-up-after", "9s"}, cli.ExitUsage},
		"--token-file is of a NATS that is":       {[]string{"coordinate", "suite", "mine.yaml", "--token-file", "t"}, cli.ExitUsage},
		"--credentials is of a NATS that":         {[]string{"coordinate", "suite", "mine.yaml", "--credentials", "c"}, cli.ExitUsage},
		"--tls-ca is of a NATS that is there":     {[]string{"coordinate", "suite", "mine.yaml", "--tls-ca", "c"}, cli.ExitUsage},
		"--give-up-after 0s: ask for more":        {[]string{"coordinate", "suite", "mine.yaml", "--give-up-after", "0"}, cli.ExitUsage},
		"theirs/token: name another folder":       {[]string{"coordinate", "suite", "mine.yaml", "--state", "theirs"}, cli.ExitUsage},
		`unknown command "sweet"`:                 {[]string{"coordinate", "sweet"}, cli.ExitUsage},
	} {
		_, errs, code := run(t, c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, errs)
		require.Contains(t, errs, want)
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		require.LessOrEqual(t, len(lines), 2, errs) // one may say that NATS is tried again
		require.NotContains(t, errs, "canary")
	}
}

// TestAWorkerThatIsNotWanted by its token, or that does not want what is handed out.
func TestAWorkerThatIsNotWanted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mine.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: mine\nruns: [{name: theirs, client: {as: lock, command: [python3, none.py]}}]\n"), 0o644))
	f := startFleet(t, 1, "suite", file)
	require.Equal(t, cli.ExitUsage, f.workers[0].exitCode(), f.workers[0].output)
	require.Contains(t, f.workers[0].output.String(), "code from elsewhere: --allow-clients runs it")
	url := joinURL.FindStringSubmatch(f.coordinator.output.String())[1]
	cmd := exec.Command(os.Args[0], "work", "--join", url)
	stranger := startAs(t, cmd)
	require.Equal(t, cli.ExitUsage, stranger.exitCode())
	require.Contains(t, stranger.output.String(), "refuses the token or credentials")
	second := start(t, f.args...)
	require.Equal(t, cli.ExitUsage, second.exitCode())
	require.Contains(t, second.output.String(), "another coordinator of this name is at work: it holds "+f.state)
	require.NoError(t, f.coordinator.Process.Signal(os.Interrupt))
	require.Equal(t, cli.ExitUnknown, f.coordinator.exitCode(), f.coordinator.output)
	require.Contains(t, f.coordinator.output.String(), "the same command goes on with it")
}

// TestANATSThatGoesAwayEndsBoth commands with exit code 3. A search under several regimes ends with the one that was under way.
func TestANATSThatGoesAwayEndsBoth(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	s, err := jetstream.Serve(state, "127.0.0.1")
	require.NoError(t, err)
	token := filepath.Join(state, jetstream.TokenFile)
	coordinator := start(t, "coordinate", "explore", "sequence/digits-compare", "--nats", s.Access.URL, "--token-file", token, "--give-up-after", "2s")
	coordinator.says("regime")
	worker := start(t, "work", "--join", s.Access.URL, "--token-file", token, "--give-up-after", "2s")
	worker.says("works for main")
	require.NoError(t, s.Stop())
	require.Equal(t, cli.ExitFailed, worker.exitCode(), worker.output)
	require.Equal(t, cli.ExitFailed, coordinator.exitCode(), coordinator.output)
	for _, p := range []process{worker, coordinator} {
		require.Contains(t, p.output.String(), "the work queue cannot be reached")
	}
	begun := regexp.MustCompile(`(?m)^\[\d+/\d+\] sequence/digits-compare, regime`).FindAllString(coordinator.output.String(), -1)
	require.Len(t, begun, 1, "it went on regime by regime: %v", coordinator.output)
}

// TestALostNATSIsToldOnce, not by each worker of the process.
func TestALostNATSIsToldOnce(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	s, err := jetstream.Serve(state, "127.0.0.1")
	require.NoError(t, err)
	token := filepath.Join(state, jetstream.TokenFile)
	coordinator := start(t, "coordinate", "explore", "lock/getset-deadline", "--clients", "3", "--unpruned", "--workers", "3",
		"--nats", s.Access.URL, "--token-file", token, "--give-up-after", "2s")
	worker := start(t, "work", "--join", s.Access.URL, "--token-file", token, "--give-up-after", "2s")
	worker.says("done in") // so the others are at work as well, or have been
	require.NoError(t, s.Stop())
	require.Equal(t, cli.ExitFailed, coordinator.exitCode(), coordinator.output)
	require.Equal(t, cli.ExitFailed, worker.exitCode(), worker.output)
	require.Equal(t, 1, strings.Count(coordinator.output.String(), " was lost ("), coordinator.output)
}

// TestTheJoinLineOfAllAddresses names this machine, as nobody finds 0.0.0.0 elsewhere.
func TestTheJoinLineOfAllAddresses(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	require.NoError(t, err)
	p := start(t, "coordinate", "explore", "lock/setnx", "--listen", "0.0.0.0")
	p.says("workers join by")
	require.Contains(t, p.output.String(), "--join nats://"+host+":")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, cli.ExitUnknown, p.exitCode(), p.output)
}

// TestTheTokenLeavesTheEnvironment, also where it is not used: what is started need not know it.
func TestTheTokenLeavesTheEnvironment(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("mine.yaml", []byte("name: mine\nruns: [{variant: sequence/incr}]\n"), 0o644))
	for _, args := range [][]string{
		{"coordinate", "suite", "mine.yaml", "--listen", "127.0.0.1:many"},
		{"coordinate", "suite", "mine.yaml", "--nats", "x"},
		{"work", "--join", "x"},
	} {
		t.Setenv("DOUBLEGRANT_NATS_TOKEN", "canary-token")
		_, _, code := run(t, args...)
		require.Equal(t, cli.ExitUsage, code)
		require.Empty(t, os.Getenv("DOUBLEGRANT_NATS_TOKEN"), args)
	}
}
