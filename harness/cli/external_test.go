package cli_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/cluster/clients/clientstest"
	"github.com/doublegrant/doublegrant/harness/history"
	"github.com/doublegrant/doublegrant/harness/plan"
)

// leastRules are the ACL rules of harness/cluster/external/README.md: the minimum that a run needs.
const leastRules = "resetchannels ~doublegrant:* -@all +hello +auth +ping +select +@transaction +@string +@set " +
	"+@hash +@list +@sortedset " +
	"+del +unlink +exists +expire +pexpire +persist +ttl +pttl +type +eval +evalsha +script|load +scan -@dangerous"

// theirs starts an external Redis that holds a key already. It returns a place whose environment has its URL, and the
// flag that permits load on it.
func theirs(t *testing.T, o clientstest.Options) (d *clientstest.Deployment, p place, may string) {
	t.Helper()
	d = clientstest.Start(t, o)
	require.NoError(t, d.Admin[0].Set(t.Context(), "bystander", "stays", 0).Err())
	at := d.Nodes[:1]
	if len(d.Sentinels) > 0 {
		at = d.Sentinels
	}
	var hosts []string
	for _, n := range at {
		hosts = append(hosts, n.Announced)
	}
	return d, newPlace(t, plan.ExternalURL+"="+d.URL()), "--i-may-load=" + strings.Join(hosts, ",")
}

// secrets lists what must not be written: users, passwords, the name of the primary, and addresses of nodes.
func secrets(d *clientstest.Deployment) []string {
	all := []string{"canary", "127.0.0.1"}
	for _, n := range append(d.Nodes, d.Sentinels...) {
		all = append(all, n.Announced)
	}
	return all
}

// haveNone fails the test if one of the texts contains a secret. what says where the texts are from.
func haveNone(t *testing.T, secrets []string, what string, texts ...string) {
	t.Helper()
	for _, s := range secrets {
		for _, text := range texts {
			require.False(t, strings.Contains(text, s), "%s: %s", what, s)
		}
	}
}

// filesHaveNone searches for secrets in the names and the texts of all files of a folder, and returns the number of
// files.
func filesHaveNone(t *testing.T, secrets []string, dir string) (files int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		haveNone(t, secrets, "a name", path)
		if !e.Type().IsRegular() {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		haveNone(t, secrets, path, string(text))
		return err
	}))
	return files
}

// tellsNothing searches for secrets in the output and in all files of the results. These include the packed histories,
// which must have events.
func tellsNothing(t *testing.T, d *clientstest.Deployment, p place, printed ...string) {
	t.Helper()
	all, events := secrets(d), 0
	haveNone(t, all, "what was printed", printed...)
	require.Greater(t, filesHaveNone(t, all, filepath.Join(p.dir, "results")), 5, "nothing was written")
	dirs, err := filepath.Glob(filepath.Join(p.dir, "results/*/history"))
	require.NoError(t, err)
	for _, dir := range dirs {
		h, err := history.Open(dir)
		require.NoError(t, err)
		events += len(h.Events)
		haveNone(t, all, dir, fmt.Sprintf("%+v %+v %+v", h.Meta, h.Events, h.Faults))
		for op, err := range h.Ops {
			require.NoError(t, err)
			haveNone(t, all, dir, op.Key, op.Err)
		}
	}
	require.Positive(t, events)
}

// onlyTheBystanderIsLeft checks that a run removed its own keys and no others.
func onlyTheBystanderIsLeft(t *testing.T, d *clientstest.Deployment) {
	t.Helper()
	require.Equal(t, "stays", d.Admin[0].Get(t.Context(), "bystander").Val())
	require.EqualValues(t, 1, d.Admin[0].DBSize(t.Context()).Val())
}

// TestARunOnARedisThatIsAlreadyThere connects with certificates, a password and minimal rights, under a fault of the
// clients' links. It then repeats the run from its plan.
func TestARunOnARedisThatIsAlreadyThere(t *testing.T) {
	t.Parallel()
	d, p, may := theirs(t, clientstest.Options{Rules: leastRules, TLS: true})
	files := []string{may, "--redis-ca", d.File("ca.pem"), "--redis-cert", d.File("client.pem"), "--redis-key",
		d.File("client.key")}
	out, errs := p.ends(cli.ExitMet, append([]string{"run", "lock/set-nx-px", "--topology", "external", "--clients",
		"10", "--rate", "200",
		"--pacing", "closed", "--ttl", "500ms", "--duration", "500ms", "--calm", "2s", "--with", "writes/sadd",
		"--nemesis", "latency",
		"--fault-for", "500ms"}, files...)...)
	onlyTheBystanderIsLeft(t, d)
	again, more := p.ends(cli.ExitMet, "check", "results/latest")
	require.Equal(t, strings.Split(out, "\n")[0], strings.Split(again, "\n")[0])
	text, _ := p.ends(0, "history", "results/latest")
	require.True(t, strings.Contains(text, `"key":"doublegrant:`), "no key under the prefix")
	report, _ := p.ends(0, "report", "results/latest")
	verdict, err := os.ReadFile(filepath.Join(p.dir, "results/latest/verdict.json"))
	require.NoError(t, err)
	require.Contains(t, string(verdict), "DOUBLEGRANT_REDIS_URL=URL doublegrant run lock/set-nx-px --topology=external")
	tellsNothing(t, d, p, out, errs, again, more, text, report)

	p.ends(cli.ExitMet, append([]string{"run", "--plan", "results/latest"}, files...)...)
}

// TestABrokenVariantIsFoundOnARedisThatIsAlreadyThere reaches Redis by its Sentinels, with the URL in a file.
func TestABrokenVariantIsFoundOnARedisThatIsAlreadyThere(t *testing.T) {
	t.Parallel()
	d, p, may := theirs(t, clientstest.Options{Rules: leastRules, Replicas: 1, Sentinels: 3})
	p.env = append(p.env, plan.ExternalURL+"=")
	url := newPlace(t).write("url", d.URL()+"\n")
	out, errs := p.ends(cli.ExitInvalid, "run", "dedup/get-set", "--topology", "external", "--prefix",
		"doublegrant:mine:", "--clients", "20",
		"--rate", "1000", "--pacing", "closed", "--duration", "1m", "--stop-on-first", "-o", "json", "--redis-url-file",
		url, may)
	require.Contains(t, out, "duplicate-delivery")
	onlyTheBystanderIsLeft(t, d)
	tellsNothing(t, d, p, out, errs)
}

// TestAKeyOutsideOfThePrefixEndsTheRun runs a script that uses such a key.
func TestAKeyOutsideOfThePrefixEndsTheRun(t *testing.T) {
	t.Parallel()
	d, p, may := theirs(t, clientstest.Options{})
	p.write("take.lua", "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])")
	p.write("give.lua", "return redis.call('DEL', KEYS[1])")
	out, errs := p.ends(cli.ExitFailed, "run", "--script", "take.lua", "--as", "lock", "--keys", "bystander:{key}",
		"--args", "{owner}",
		"--args", "{ttl_ms}", "--release", "give.lua", "--topology", "external", "--clients", "10", "--duration", "20s",
		may)
	require.Empty(t, out)
	require.Contains(t, errs, `EVALSHA names "bystander:doublegrant:`)
	require.Equal(t, 1, strings.Count(errs, "\n"), "more than one line: %s", errs)
	onlyTheBystanderIsLeft(t, d)
}

func TestARedisThatCannotBeUsedIsOneLine(t *testing.T) {
	t.Parallel()
	d, p, may := theirs(t, clientstest.Options{Rules: leastRules})
	p.write("empty", "")
	address := d.Nodes[0].Announced
	for _, c := range []struct {
		want string
		code int
		url  string // empty: the right one
		args []string
	}{
		{"would hit " + address + ": if that is allowed, give --i-may-load " + address, cli.ExitUsage, "", nil},
		{"has an unknown form", cli.ExitUsage, "canary", []string{may}},
		{"WRONGPASS", cli.ExitFailed, "redis://canary-user:canary-wrong@" + address, []string{may}},
		{"NOAUTH", cli.ExitFailed, "redis://" + address, []string{may}},
		{"cannot be reached", cli.ExitFailed, "redis://canary-user:canary-password@127.0.0.1:1",
			[]string{"--i-may-load", "127.0.0.1:1"}},
		{"NOPERM", cli.ExitFailed, "", []string{may, "--prefix", "not-ours:"}},
		{"certificates are for TLS", cli.ExitUsage, "",
			[]string{may, "--redis-ca", "empty", "--redis-cert", os.Args[0]}},
		{"name a file that can be read", cli.ExitUsage, "", []string{may, "--redis-ca", "nowhere"}},
		{"is empty: write the URL", cli.ExitUsage, "", []string{may, "--redis-url-file", "empty"}},
		{"both give the URL", cli.ExitUsage, "",
			[]string{may, "--redis-url-file", "empty", "--redis", "redis://h"}},
		{"--redis-ca is for --topology external", cli.ExitUsage, "",
			[]string{"--redis-ca", "x", "--topology", "standalone"}},
	} {
		at := p
		at.env = append(slices.Clip(p.env), plan.ExternalURL+"="+cmp.Or(c.url, d.URL()))
		out, errs := at.ends(c.code, append([]string{"run", "lock/set-nx-px", "--topology", "external", "--duration",
			"1s"}, c.args...)...)
		require.Contains(t, errs, c.want)
		require.NotContains(t, errs, "canary")
		require.Equal(t, 1, strings.Count(errs, "\n"), "more than one line: %s", errs)
		require.Empty(t, out)
	}
	onlyTheBystanderIsLeft(t, d)
	require.NoDirExists(t, filepath.Join(p.dir, "results"))
}
