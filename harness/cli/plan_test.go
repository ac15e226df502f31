package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

func TestAPlanFileThatCannotBeIsOneLineWithItsPlace(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	write("typo.yaml", "variant: lock/set-nx-px\nfaults:\n  - start: 2s\n    fault: kill-primry\n")
	write("field.yaml", "variant: lock/set-nx-px\nfaults:\n  - fault: kill-primary\n    befor: 2s\n")
	write("none.yaml", "variant: lock/set-nx-px\ntopology: standalone\nfaults:\n  - fault: kill-primary\n")
	write("good.yaml", "variant: lock/set-nx-px\n")
	for want, args := range map[string][]string{
		`typo.yaml:4: unknown fault "kill-primry": unknown host "primry": did you mean primary? choose `: {"run", "--plan", "typo.yaml"},
		`field.yaml:4: unknown field "befor": choose one of fault,`:                                      {"compare", "--plan", "field.yaml"},
		"none.yaml:4: kill-primary needs --topology sentinel":                                            {"run", "--plan", "none.yaml"},
		"open nowhere.yaml":                                             {"run", "--plan", "nowhere.yaml"},
		"--clients is the plan's to say":                                {"run", "--plan", "good.yaml", "--clients", "5"},
		"--regime is the plan's to say":                                 {"compare", "--plan", "good.yaml", "--regime", "fixed"},
		"good.yaml has a variant already: leave lock/setnx out":         {"run", "--plan", "good.yaml", "lock/setnx"},
		"2 plans given":                                                 {"run", "--plan", "good.yaml", "--plan", "good.yaml"},
		"min-replicas needs replicas":                                   {"run", "lock/set-nx-px", "--min-replicas", "1"},
		"ask for 1 to 2":                                                {"run", "lock/set-nx-px", "--topology", "sentinel", "--min-replicas", "3"},
		"max-lag says which replicas count":                             {"run", "lock/set-nx-px", "--topology", "sentinel", "--max-lag", "1s"},
		"Redis takes whole seconds":                                     {"run", "lock/set-nx-px", "--topology", "sentinel", "--min-replicas", "1", "--max-lag", "1500ms"},
		"choose always, everysec or no":                                 {"compare", "lock/set-nx-px", "lock/setnx", "--aof", "often"},
		"waits for none: acks are for variants with a WAIT":             {"run", "lock/set-nx-px", "--topology", "sentinel", "--acks", "1"},
		"waits for 3 replicas, and sentinel has 2: ask for acks 1 to 2": {"run", "lock/set-nx-px-wait", "--acks", "3"},
		"--nemesis: an empty name among the faults: leave it out":       {"run", "lock/set-nx-px", "--nemesis", ""},
		"doublegrant: an empty name among the faults":                   {"run", "lock/set-nx-px", "--nemesis", "kill-primary,"},
		"an image is for containers: use --on docker":                   {"run", "lock/set-nx-px", "--redis-image", "redis:7"},
		"choose process or docker":                                      {"run", "lock/set-nx-px", "--on", "cloud"},
		"a resource is for locks":                                       {"run", "sequence/incr", "--resource"},
		"lock/redlock needs 3 masters or more":                          {"run", "lock/redlock", "--topology", "sentinel"},
		"works on one primary, and masters:5 has several":               {"run", "lock/set-nx-px", "--topology", "masters:5"},
		"ask for masters:2 to masters:9":                                {"run", "lock/set-nx-px", "--topology", "masters:x"},
	} {
		out, errs, code := run(t, args...)
		require.Equal(t, cli.ExitUsage, code, "%v: %s", args, errs)
		require.Contains(t, errs, want)
		require.Equal(t, 1, strings.Count(errs, "\n"), "more than one line: %s", errs)
		require.Empty(t, out)
	}
	require.NoDirExists(t, "results")
}

// TestAPlanIsRunAgainFromWhatItLeftBehind: a schedule in a file, and then the folder of its results.
func TestAPlanIsRunAgainFromWhatItLeftBehind(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("my.yaml", []byte(`
variant: sequence/incr
clients: 20
rate: 2000
duration: 1s
calm: 500ms
faults:
  - random: [pause-primary, pause-primary]
    for: 600ms
    times: 2
topology: standalone
`), 0o644))
	out, errs, code := run(t, "run", "--plan", "my.yaml", "--seed", "7")
	require.Equal(t, cli.ExitMet, code, out+errs)
	first, err := filepath.EvalSymlinks("results/latest")
	require.NoError(t, err)
	plan, err := os.ReadFile(filepath.Join(first, "plan.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(plan), "seed: 7")
	page, err := os.ReadFile(filepath.Join(first, "summary.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), "doublegrant run --plan="+filepath.Join(first, "plan.yaml"))

	out, errs, code = run(t, "run", "--plan", "results/latest", "-o", "json")
	require.Equal(t, cli.ExitMet, code, out+errs)
	again, err := os.ReadFile("results/latest/plan.yaml")
	require.NoError(t, err)
	require.Equal(t, string(plan), string(again))
}

// TestCompareTellsMinReplicasApart: variants under several plans, each row with what its plan asks of the cluster.
func TestCompareTellsMinReplicasApart(t *testing.T) {
	onlyLong(t)
	t.Chdir(t.TempDir())
	const common = "variant: lock/set-nx-px\nclients: 20\nrate: 500\nkeys: 10\nttl: 400ms\nduration: 1s\ncalm: 1s\nnemesis: partition-clients-primary\nfaultFor: 1s\n"
	require.NoError(t, os.WriteFile("bare.yaml", []byte(common), 0o644))
	require.NoError(t, os.WriteFile("guarded.yaml", []byte(common+"minReplicas: 1\nmaxLag: 1s\naof: always\n"), 0o644))
	out, errs, code := run(t, "compare", "--plan", "bare.yaml", "--plan", "guarded.yaml", "--explore-for", "0")
	require.Zero(t, code, errs)
	lines := strings.Split(out, "\n")
	require.Regexp(t, `^lock/set-nx-px  partition-clients-primary +valid`, lines[1])
	require.Regexp(t, `^lock/set-nx-px  partition-clients-primary, min-replicas 1, max-lag 1s, aof always +valid`, lines[2])
	require.FileExists(t, "results/latest/nodes/r1.log")
}

func TestListExplainsFaults(t *testing.T) {
	out, _, code := run(t, "list")
	require.Zero(t, code)
	for _, want := range []string{
		"FAULTS: packages", "flaky-network", "kill-HOST", "host=primary", "partition-SIDES", "isolate-primary", "latency=100ms jitter=20ms",
		"drop-replies: only answers are",
	} {
		require.Contains(t, out, want)
	}
}

// TestNoFlagIsSilentlyOverruledByAPlan: whatever a plan says itself cannot be given beside it.
func TestNoFlagIsSilentlyOverruledByAPlan(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("good.yaml", []byte("variant: lock/set-nx-px\n"), 0o644))
	help, _, _ := run(t, "run", "--help")
	values := map[string]string{"int": "=1", "uint": "=1", "float": "=1", "duration": "=1s", "string": "=x", "strings": "=x"}
	beside := []string{"plan", "seed", "results", "redis-server", "output", "color", "no-color", "help", "as", "args", "keys", "yes", "no-error", "release", "release-args", "script", "client", "connect", "announces", "clock", "processes", "real-crash",
		"redis", "redis-url-file", "redis-ca", "redis-cert", "redis-key", "i-may-load", // which Redis is not in a plan
		"listen", "nats", "expose", "name", "state", "token-file", "credentials", "tls-ca", "give-up-after"} // nor where generators come from
	flags := regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+) (int|uint|float|duration|strings?)?`).FindAllStringSubmatch(help, -1)
	require.Greater(t, len(flags), 25)
	for _, f := range flags {
		if slices.Contains(beside, f[1]) {
			continue
		}
		_, errs, code := run(t, "run", "--plan", "good.yaml", "--"+f[1]+values[f[2]])
		require.Equal(t, cli.ExitUsage, code, f[1])
		require.Contains(t, errs, "--"+f[1]+" is the plan's to say")
	}
}
