package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/cluster/clients/clientstest"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// givenSecret is a command line with a secret in one of the places where one can be given. Every secret has the word
// canary in it. In line, URL, HOST and ADMIN stand for those of an external Redis.
type givenSecret struct {
	place string
	env   string            // NAME=value; empty: none
	files map[string]string // what they hold, by name
	line  string
	works bool // it makes a run or search; if not, it fails with one line or more
}

// loads are flags of a run on the external Redis.
const loads = " --topology external --i-may-load HOST --clients 10 --rate 200 --pacing closed --ttl 300ms " +
	"--duration 300ms --calm 700ms"

// local are flags of a run on a Redis of this machine.
const local = " --clients 5 --rate 200 --pacing closed --duration 300ms --calm 100ms"

// nowhere is an address that has no NATS, and a short time to try it.
const nowhere = "127.0.0.1:1 --give-up-after 200ms"

var givenSecrets = []givenSecret{
	{place: "the URL of a Redis, as a flag", line: "run lock/set-nx-px --redis URL" + loads, works: true},
	{place: "the URL of a Redis, in the environment", env: plan.ExternalURL + "=URL",
		line: "compare lock/set-nx-px lock/set-nx-px-blind-del --explore-for 0 -o json" + loads, works: true},
	{place: "the URL of a Redis, in a file", files: map[string]string{"url": "URL"},
		line: "run lock/set-nx-px --redis-url-file url -o json" + loads, works: true},
	{place: "the URL of a Redis, for a suite", env: plan.ExternalURL + "=URL", files: map[string]string{"mine.yaml": "" +
		"name: mine\nruns: [{variant: lock/set-nx-px, topology: external, clients: 10, rate: 200, pacing: closed, " +
		"ttl: 300ms, duration: 300ms, calm: 700ms, expect: valid}]\n"}, line: "suite mine.yaml --i-may-load HOST", works: true},
	{place: "the URL of a Redis, for generators", env: plan.ExternalURL + "=URL",
		line: "run lock/set-nx-px --generators 2" + loads, works: true},
	{place: "a password that is wrong", line: "run lock/set-nx-px --redis redis://canary-user:canary-wrong@HOST" + loads},
	{place: "a password without a user", line: "run lock/set-nx-px --redis redis://:canary-wrong@HOST" + loads},
	{place: "a password with odd letters", line: "run lock/set-nx-px --redis redis://u:canary%zz/?#x@HOST" + loads},
	{place: "a URL of Sentinels", line: "run lock/set-nx-px --topology external --i-may-load 127.0.0.1:1 --redis " +
		"'redis+sentinel://u:canary1@127.0.0.1:1/canary-name?sentinel_password=canary2&sentinel_username=canary3'"},
	{place: "a URL of Sentinels that is wrong", line: "run lock/set-nx-px --redis " +
		"redis+sentinel://u:canary1@127.0.0.1:1?sentinel_pass=canary2" + loads},
	{place: "a URL of another kind", line: "run lock/set-nx-px --redis http://canary-user:canary@HOST" + loads},
	{place: "a URL with a bad port", line: "run lock/set-nx-px --redis redis://u:canary@h:canary" + loads},
	{place: "the key of a certificate", files: map[string]string{"c.pem": "canary", "k.pem": "canary"},
		line: "run lock/set-nx-px --redis rediss://HOST --redis-cert c.pem --redis-key k.pem" + loads},
	{place: "a field that plans lack", line: "run --plan p.yaml",
		files: map[string]string{"p.yaml": "variant: lock/set-nx-px\nredis: redis://u:canary@h\n"}},
	{place: "a field that suites lack", files: map[string]string{"s.yaml": "name: x\nredis: redis://u:canary@h\nruns: " +
		"[{variant: lock/set-nx-px}]\n"}, line: "suite s.yaml"},
	{place: "an environment without use for it", env: plan.ExternalURL + "=redis://u:canary@h", works: true,
		line: "run lock/set-nx-px --ttl 300ms" + local},
	{place: "an environment without use for it, of a search", env: plan.ExternalURL + "=redis://u:canary@h", works: true,
		line: "explore lock/set-nx-px-blind-del --clients 2"},
	{place: "an environment that doctor looks at", env: plan.ExternalURL + "=redis://u:canary@h", works: true,
		line: "doctor -o json"},
	{place: "the environment of an adapter", env: "MYLOCK_PASSWORD=canary", works: true,
		line: "run --ttl 300ms --adapter 'PYTHON lock.py'" + local},
	{place: "the environment of an adapter, in a search", env: "MYLOCK_PASSWORD=canary", works: true,
		line: "explore --clients 2 --late 0 -- PYTHON lock.py"},
	{place: "a token of a NATS", env: "DOUBLEGRANT_NATS_TOKEN=canary", line: "work --join nats://" + nowhere},
	{place: "a password of a NATS", line: "work --join nats://canary:canary@" + nowhere},
	{place: "a password of a NATS, for generators",
		line: "run lock/set-nx-px --generators 2 --nats nats://canary:canary@" + nowhere},
	{place: "a token of a NATS, for a suite", line: "coordinate suite ci --nats nats://canary@" + nowhere},
	{place: "a token file of a NATS", files: map[string]string{"t": "canary\n"},
		line: "coordinate explore lock/set-nx-px --token-file t --nats nats://" + nowhere},
	{place: "credentials of a NATS", files: map[string]string{"c": "canary\n"},
		line: "work --credentials c --join nats://" + nowhere},
	{place: "a certificate of a NATS", files: map[string]string{"c": "canary\n"},
		line: "work --tls-ca c --join tls://" + nowhere},
	{place: "a URL of a NATS that is wrong", line: "work --join nats://u:canary@h:99999999 --give-up-after 200ms"},
}

// TestNoSecretIsPrintedInAnError gives a secret to commands that fail. It searches for it in everything that they print
// and leave.
func TestNoSecretIsPrintedInAnError(t *testing.T) {
	t.Parallel()
	keepSecrets(t, false)
}

// TestLongNoSecretIsWritten gives a secret to commands that work, in each place where one can be given.
func TestLongNoSecretIsWritten(t *testing.T) {
	testenv.NeedLong(t)
	pythonWithRedis(t)
	keepSecrets(t, true)
}

func keepSecrets(t *testing.T, works bool) {
	d := clientstest.Start(t, clientstest.Options{Rules: leastRules})
	stands := strings.NewReplacer("URL", d.URL(), "HOST", d.Nodes[0].Announced, "PYTHON", python)
	for _, g := range givenSecrets {
		if g.works == works {
			t.Run(g.place, func(t *testing.T) {
				t.Parallel()
				g.keeps(t, stands)
			})
		}
	}
}

// keeps runs the command and searches for the secret.
func (g givenSecret) keeps(t *testing.T, stands *strings.Replacer) {
	p := newShortPlace(t)
	if g.env != "" {
		name, value, _ := strings.Cut(g.env, "=")
		p.env = append(slices.Clip(p.env), name+"="+stands.Replace(value))
	}
	adapter, err := os.ReadFile(filepath.Join(clients, "lock.py"))
	require.NoError(t, err)
	p.write("lock.py", string(adapter))
	for name, text := range g.files {
		p.write(name, stands.Replace(text))
	}
	words, err := cli.SplitWords(stands.Replace(g.line))
	require.NoError(t, err)
	out, errs, code := p.command(words...)
	all := []string{"canary"}
	require.Equal(t, g.works, code <= cli.ExitUnknown, "exit code %d\n%s%s", code, out, errs)
	haveNone(t, all, "standard output", out)
	haveNone(t, all, "standard error", errs)
	for name := range g.files {
		require.NoError(t, os.Remove(filepath.Join(p.dir, name)))
	}
	files := filesHaveNone(t, all, p.dir)
	if g.works && strings.Contains(g.line, "run ") {
		require.Greater(t, files, 5, "nothing was written")
		text, _ := p.ends(0, "history", "results/latest")
		haveNone(t, all, "the history", text)
		again, more, _ := p.command("check", "results/latest")
		report, _, _ := p.command("report", "results/latest")
		haveNone(t, all, "what is printed of the results", again, more, report)
	}
	t.Logf("exit code %d, %d files", code, files)
}
