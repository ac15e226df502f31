package cli_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/cluster/attached/attachedtest"
	"github.com/doublegrant/doublegrant/harness/history"
	"github.com/doublegrant/doublegrant/harness/plan"
)

// leastRules are those that harness/cluster/external/README.md gives: what a run needs, and no more.
const leastRules = "resetchannels ~doublegrant:* -@all +hello +auth +ping +select +@transaction +@string +@set +@hash +@list +@sortedset " +
	"+del +unlink +exists +expire +pexpire +persist +ttl +pttl +type +eval +evalsha +script|load +scan -@dangerous"

// theirs starts a Redis of somebody else, with a key of theirs, and gives its URL to the environment. may is the flag that lets load
// hit it.
func theirs(t *testing.T, o attachedtest.Options) (d *attachedtest.Deployment, may string) {
	t.Helper()
	d = attachedtest.Start(t, o)
	require.NoError(t, d.Admin[0].Set(t.Context(), "bystander", "stays", 0).Err())
	t.Setenv(plan.ExternalURL, d.URL())
	at := d.Nodes[:1]
	if len(d.Sentinels) > 0 {
		at = d.Sentinels
	}
	var hosts []string
	for _, n := range at {
		hosts = append(hosts, n.Announced)
	}
	return d, "--i-may-load=" + strings.Join(hosts, ",")
}

// secrets lists what must not be written: users, passwords, the name of the primary, and addresses of nodes.
func secrets(d *attachedtest.Deployment) []string {
	all := []string{"canary", "127.0.0.1"}
	for _, n := range append(d.Nodes, d.Sentinels...) {
		all = append(all, n.Announced)
	}
	return all
}

// tellsNothing searches for secrets in what was printed, and in every file of the folder, packed or not.
func tellsNothing(t *testing.T, d *attachedtest.Deployment, dir string, printed ...string) {
	t.Helper()
	for _, s := range secrets(d) {
		for i, p := range printed {
			require.False(t, strings.Contains(p, s), "text %d has %s", i, s)
		}
	}
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		for _, s := range secrets(d) {
			require.NotContains(t, path, s)
		}
		if !e.Type().IsRegular() {
			return nil
		}
		files++
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, s := range secrets(d) {
			require.False(t, strings.Contains(string(b), s), "%s has %s", path, s)
		}
		return nil
	}))
	require.Greater(t, files, 5, "nothing was written")
}

// historiesTellNothing searches for secrets in the histories, which are packed, and returns the number of events in them.
func historiesTellNothing(t *testing.T, d *attachedtest.Deployment) (events int) {
	t.Helper()
	dirs, err := filepath.Glob("results/*/history")
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	for _, dir := range dirs {
		h, err := history.Open(dir)
		require.NoError(t, err)
		events += len(h.Events)
		text := fmt.Sprintf("%+v %+v %+v", h.Meta, h.Events, h.Faults)
		for op, err := range h.Ops {
			require.NoError(t, err)
			text += op.Key + op.Err + "\n"
			if len(text) > 1<<16 {
				saysNothing(t, d, text)
				text = ""
			}
		}
		saysNothing(t, d, text)
	}
	return events
}

func saysNothing(t *testing.T, d *attachedtest.Deployment, text string) {
	t.Helper()
	for _, s := range secrets(d) {
		require.False(t, strings.Contains(text, s), "a history has %s", s)
	}
}

// onlyTheBystanderIsLeft checks that a run removed its keys, and no others.
func onlyTheBystanderIsLeft(t *testing.T, d *attachedtest.Deployment) {
	t.Helper()
	require.Equal(t, "stays", d.Admin[0].Get(t.Context(), "bystander").Val())
	require.EqualValues(t, 1, d.Admin[0].DBSize(t.Context()).Val())
}

func TestARunOnARedisThatIsAlreadyThere(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	d, may := theirs(t, attachedtest.Options{Rules: leastRules, TLS: true})
	files := []string{"--redis-ca", d.File("ca.pem"), "--redis-cert", d.File("client.pem"), "--redis-key", d.File("client.key")}
	out, errs, code := run(t, append([]string{"run", "lock/set-nx-px", "--topology", "external", "--clients", "20", "--rate", "1000", "--duration", "2s", "--with", "writes/sadd",
		"--nemesis", "partition-clients-primary,latency,limit-data,freeze-clients", "--fault-for", "2s", may}, files...)...)
	require.Equal(t, cli.ExitMet, code, "%s%s", out, errs)
	onlyTheBystanderIsLeft(t, d)
	again, more, code := run(t, "check", "results/latest")
	require.Equal(t, cli.ExitMet, code, more)
	require.Equal(t, strings.Split(out, "\n")[0], strings.Split(again, "\n")[0])
	text, _, code := run(t, "history", "results/latest")
	require.Zero(t, code)
	require.True(t, strings.Contains(text, `"key":"doublegrant:`), "no key under the prefix")
	report, _, code := run(t, "report", "results/latest")
	require.Zero(t, code)
	verdict, err := os.ReadFile("results/latest/verdict.json")
	require.NoError(t, err)
	require.Contains(t, string(verdict), "DOUBLEGRANT_REDIS_URL=URL doublegrant run lock/set-nx-px --topology=external")
	tellsNothing(t, d, "results", out, errs, again, more, text, report)
	require.Positive(t, historiesTellNothing(t, d))

	_, errs, code = run(t, append([]string{"run", "--plan", "results/latest", may}, files...)...)
	require.Equal(t, cli.ExitMet, code, errs)
}

func TestABrokenVariantIsFoundOnARedisThatIsAlreadyThere(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	d, may := theirs(t, attachedtest.Options{Rules: leastRules, Replicas: 1, Sentinels: 3})
	out, errs, code := run(t, "run", "lock/set-nx-px-blind-del", "--topology", "external", "--clients", "20", "--duration", "3s", "--nemesis", "latency", may)
	require.Equal(t, cli.ExitInvalid, code, "%s%s", out, errs)
	require.Contains(t, out, "double-grant")
	js, errs2, code := run(t, "run", "sequence/string-compare", "--topology", "external", "--clients", "20", "--duration", "2s", "-o", "json", may)
	require.Equal(t, cli.ExitInvalid, code, "%s%s", js, errs2)
	out2, errs3, code := run(t, "run", "dedup/get-set", "--topology", "external", "--prefix", "doublegrant:mine:", "--clients", "20", "--duration", "3s", may)
	require.Equal(t, cli.ExitInvalid, code, "%s%s", out2, errs3)
	onlyTheBystanderIsLeft(t, d)
	tellsNothing(t, d, "results", out, errs, js, errs2, out2, errs3)
	require.Positive(t, historiesTellNothing(t, d))
}

// TestAKeyOutsideOfThePrefixEndsTheRun is about a script that is told to use one.
func TestAKeyOutsideOfThePrefixEndsTheRun(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	d, may := theirs(t, attachedtest.Options{})
	require.NoError(t, os.WriteFile("take.lua", []byte("return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])"), 0o600))
	require.NoError(t, os.WriteFile("give.lua", []byte("return redis.call('DEL', KEYS[1])"), 0o600))
	out, errs, code := run(t, "run", "--script", "take.lua", "--as", "lock", "--keys", "bystander:{key}", "--args", "{owner}", "--args", "{ttl_ms}",
		"--release", "give.lua", "--topology", "external", "--clients", "10", "--duration", "20s", may)
	require.Equal(t, cli.ExitFailed, code, "%s%s", out, errs)
	require.Empty(t, out)
	require.Contains(t, errs, `EVALSHA names "bystander:doublegrant:`)
	require.Equal(t, 1, strings.Count(errs, "\n"), "more than one line: %s", errs)
	onlyTheBystanderIsLeft(t, d)
}

func TestARedisThatCannotBeUsedIsOneLine(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	d, may := theirs(t, attachedtest.Options{Rules: leastRules})
	require.NoError(t, os.WriteFile("empty", nil, 0o600))
	address := d.Nodes[0].Announced
	for _, c := range []struct {
		want string
		code int
		url  string // empty: the right one
		args []string
	}{
		{"would hit " + address + ": if it may, give --i-may-load " + address, cli.ExitUsage, "", nil},
		{"would hit " + address, cli.ExitUsage, "", []string{"--i-may-load", "127.0.0.1"}},
		{"set DOUBLEGRANT_REDIS_URL", cli.ExitUsage, "none", []string{may}},
		{"none that is known here", cli.ExitUsage, "canary", []string{may}},
		{"WRONGPASS", cli.ExitFailed, "redis://canary-user:canary-wrong@" + address, []string{may}},
		{"NOAUTH", cli.ExitFailed, "redis://" + address, []string{may}},
		{"cannot be reached", cli.ExitFailed, "redis://canary-user:canary-password@127.0.0.1:1", []string{"--i-may-load", "127.0.0.1:1"}},
		{"NOPERM", cli.ExitFailed, "", []string{may, "--prefix", "not-ours:"}},
		{"kill-primary is not for", cli.ExitUsage, "", []string{may, "--nemesis", "kill-primary"}},
		{"on is about nodes", cli.ExitUsage, "", []string{may, "--on", "docker"}},
		{"certificates are for TLS", cli.ExitUsage, "", []string{may, "--redis-ca", "empty", "--redis-cert", os.Args[0]}},
		{"name a file that can be read", cli.ExitUsage, "", []string{may, "--redis-ca", "nowhere"}},
		{"is empty: write the URL", cli.ExitUsage, "", []string{may, "--redis-url-file", "empty"}},
		{"two names of one Redis", cli.ExitUsage, "", []string{may, "--redis-url-file", "empty", "--redis", "redis://h"}},
		{"--redis-ca is for --topology external", cli.ExitUsage, "", []string{"--redis-ca", "x", "--topology", "standalone"}},
	} {
		t.Setenv(plan.ExternalURL, d.URL())
		if c.url == "none" {
			t.Setenv(plan.ExternalURL, "")
		} else if c.url != "" {
			t.Setenv(plan.ExternalURL, c.url)
		}
		out, errs, code := run(t, append([]string{"run", "lock/set-nx-px", "--topology", "external", "--duration", "1s"}, c.args...)...)
		require.Equal(t, c.code, code, "%s: %s", c.want, errs)
		require.Contains(t, errs, c.want)
		require.NotContains(t, errs, "canary")
		require.Equal(t, 1, strings.Count(errs, "\n"), "more than one line: %s", errs)
		require.Empty(t, out)
	}
	onlyTheBystanderIsLeft(t, d)
	_, err := os.Stat("results")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
