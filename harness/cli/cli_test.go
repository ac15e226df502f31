package cli_test

import (
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

func TestAMachineThatCannotDoItIsOneLineAndExit3(t *testing.T) {
	for want, args := range map[string][]string{
		"or leave it out":     {"run", "sequence/incr", "--redis-server", "/nowhere/redis-server"},
		"ulimit -n":           {"run", "sequence/incr", "--clients", "900000"},
		"from --redis-server": {"explore", "lock/set-nx-px", "--redis-server", "/nowhere/redis-server"},
	} {
		_, errs := ends(t, cli.ExitFailed, args...)
		require.Contains(t, errs, want)
		require.LessOrEqual(t, strings.Count(errs, "no redis-server"), 1, "said once: %s", errs)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
}

func TestWhatIsListed(t *testing.T) {
	for _, c := range []struct {
		line        string
		has, hasNot []string
	}{
		{"", []string{"Is my Redis lock safe?"}, nil},
		{"list", []string{
			"lock/set-nx-px-blind-del", "stolen-release", "a release comes after the lease", "partition-primary",
			"timestamp17", "FAULTS: packages", "flaky-network",
			"kill-HOST", "host=primary", "partition-SIDES", "isolate-primary", "latency=100ms jitter=20ms",
			"drop-replies: only answers are",
		}, nil},
		{"list lock/set-nx-px", []string{"lock/set-nx-px ", "double-grant"},
			[]string{"lock/set-nx-px-blind-del", "FAULTS", "REGIME"}},
		{"list dedup", []string{"dedup/get-set", "dedup/set-nx-ex"}, []string{"lock/", "FAULTS"}},
		{"list faults", []string{"FAULTS: nodes", "kill-HOST", "SIDES: "}, []string{"VARIANT", "REGIME"}},
		{"list kill-primary regimes", []string{"kill-HOST", "HOST: primary", "growing", "each caller a little behind"},
			[]string{"pause-HOST", "SIDES: "}},
		{"reproduce", []string{"EXPERIMENT", "TRIALS", "ABOUT", "split-brain-guards", " min "}, nil},
		{"reproduce --list", []string{"EXPERIMENT", "TRIALS", "ABOUT", "split-brain-guards", " min "}, nil},
	} {
		out, _ := ends(t, 0, strings.Fields(c.line)...)
		for _, want := range c.has {
			require.Contains(t, out, want, c.line)
		}
		for _, not := range c.hasNot {
			require.NotContains(t, out, not, c.line)
		}
	}
	out, _ := ends(t, 0, "list", "-o", "json")
	require.True(t, json.Valid([]byte(out)), out)
}

func TestTheVersionIsOneLine(t *testing.T) {
	for _, args := range [][]string{{"--version"}, {"version"}} {
		out, _ := ends(t, 0, args...)
		require.Regexp(t, `^doublegrant [^\n]+, go1\.[^\n]+\n$`, out)
	}
}

func TestHelpHasItsFlagsInGroups(t *testing.T) {
	for command, titles := range map[string][]string{
		"run": {"Variant and load", "Topology", "Generators", "External Redis", "Faults",
			"Your own script or adapter", "Results"},
		"compare": {"Variant and load", "Topology", "External Redis", "Faults",
			"Your own script or adapter", "Results"},
		"explore": {"Variant and search", "At random", "Faults, each tried wherever it makes a difference",
			"Your own script or adapter", "In pieces", "Replay", "Results"},
	} {
		out, _ := ends(t, 0, command, "--help")
		var seen []string
		for _, m := range regexp.MustCompile(`(?m)^(\w.*):$`).FindAllStringSubmatch(out, -1) {
			seen = append(seen, m[1])
		}
		require.Equal(t, append([]string{"Usage", "Examples"}, titles...), seen,
			"a flag in no group would be among others")
		_, groups, _ := strings.Cut(out, titles[0]+":\n") // examples have flags, too
		var flags []string
		for _, m := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)`).FindAllStringSubmatch(groups, -1) {
			flags = append(flags, m[1])
		}
		require.Contains(t, flags, "output")
		require.Contains(t, flags, "redis-server")
		all := len(flags)
		slices.Sort(flags)
		require.Len(t, slices.Compact(flags), all, "each once")
	}
}

// TestLongCompareTellsMinReplicasApart compares variants under several plans. Each row names its plan's conditions.
func TestLongCompareTellsMinReplicasApart(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	p := newPlace(t)
	const common = "variant: lock/set-nx-px\nclients: 20\nrate: 500\npacing: closed\nkeys: 10\nttl: 400ms\nduration: " +
		"1s\ncalm: 1s\nnemesis: partition-clients-primary\nfaultFor: 1s\n"
	p.write("bare.yaml", common)
	p.write("guarded.yaml", common+"minReplicas: 1\nmaxLag: 1s\naof: always\n")
	out, _ := p.ends(0, "compare", "--plan", "bare.yaml", "--plan", "guarded.yaml", "--explore-for", "0")
	lines := strings.Split(out, "\n")
	require.Regexp(t, `^lock/set-nx-px  partition-clients-primary +valid`, lines[1])
	require.Regexp(t, `^lock/set-nx-px  partition-clients-primary, min-replicas 1, max-lag 1s, aof always +valid`,
		lines[2])
	require.FileExists(t, filepath.Join(p.dir, "results/latest/nodes/r1.log"))
}

// A panic is reported as a failure of the harness, without a verdict.
func TestAPanicIsNoVerdict(t *testing.T) {
	var said strings.Builder
	require.Equal(t, cli.ExitFailed, cli.Main([]string{"list"}, broken{}, &said))
	require.Contains(t, said.String(), "doublegrant: a defect of doublegrant: ")
	require.Contains(t, said.String(), "the screen is broken")
}

type broken struct{ io.Writer }

func (broken) Write([]byte) (int, error) { panic("the screen is broken") }
