package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/cluster/clients/clientstest"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/suite"
)

// This file tries the blocks of READMEs that are not commands.

// goModule writes a module with the lock of a user, which imports this checkout of the project.
func goModule(p place) {
	p.Helper()
	for _, name := range []string{"mylock.go", "mylock_test.go"} {
		text, err := os.ReadFile(filepath.Join(root(), "harness/granttest/testdata/module", name))
		require.NoError(p, err)
		p.write(name, string(text))
	}
	p.write("go.mod", fmt.Sprintf("module example.com/mylock\n\ngo 1.26.0\n\nrequire %s v0.0.0\n\nreplace %[1]s => %s\n",
		"github.com/doublegrant/doublegrant", root()))
	sums, err := os.ReadFile(filepath.Join(root(), "go.sum"))
	require.NoError(p, err)
	p.write("go.sum", string(sums))
}

// goCommand runs the go command in the module, and returns what it prints and its exit code.
func goCommand(p place, line string) (out string, code int) {
	p.Helper()
	return p.shell("export GOWORK=off GOFLAGS=\"-mod=mod -vet=off -trimpath '-ldflags=-s -w'\"; " + line)
}

// testFile tries a block with a test of a lock, perhaps without its first lines. The test has to pass.
func testFile(p place, b block) {
	goModule(p)
	text := b.text
	if !strings.HasPrefix(text, "package ") {
		text = "package mylock\n\nimport \"testing\"\n" + text
	}
	p.write("mylock_test.go", text)
	out, code := goCommand(p, "go test -count 1 .")
	require.Zero(p, code, out)
}

// statement tries a block with one statement of a test. It has to compile.
func statement(p place, b block) {
	goModule(p)
	p.write("mylock_test.go", "package mylock\n\nimport (\n\"testing\"\n\"github.com/redis/go-redis/v9\"\n"+
		"\"github.com/doublegrant/doublegrant/harness/granttest\"\n)\n\n"+
		"func newManager(r redis.UniversalClient) *MyLock { return newMyLock(r) }\n"+
		"func TestMyLock(t *testing.T) {\n"+b.text+"\n}\n")
	out, code := goCommand(p, "go vet .")
	require.Zero(p, code, out)
}

// methods tries a block that lists methods of a user's type. Package granttest has to accept a type with these methods.
func methods(p place, b block) {
	goModule(p)
	var interfaces []string
	for name, is := range map[string]string{"Acquire": "Locker", "Extend": "Extender", "Fence": "Fencer",
		"First": "Deduper", "Confirm": "Confirmer", "Inspect": "Inspector", "Next": "Sequencer"} {
		if strings.Contains(b.text, name+"(") {
			interfaces = append(interfaces, "granttest."+is)
		}
	}
	require.NotEmpty(p, interfaces)
	p.write("shown_test.go", "package mylock\n\nimport (\n\"context\"\n\"time\"\n"+
		"\"github.com/doublegrant/doublegrant/harness/granttest\"\n)\n\n"+
		"type shown interface {\n"+b.text+"\n}\n\n"+
		"var _ interface {\n"+strings.Join(interfaces, "\n")+"\n} = shown(nil)\n")
	out, code := goCommand(p, "go vet .")
	require.Zero(p, code, out)
}

// failedTest tries a block with the output of a failing test, by testing a lock that deletes blindly. The search has a
// minute for the shortest schedule, so that a busy machine finds it too.
func failedTest(p place, b block) {
	goModule(p)
	p.write("mylock_test.go", `package mylock

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

func TestMyLock(t *testing.T) {
	granttest.Lock(t, newMyLock, granttest.LockOptions{Search: granttest.Search{Minimize: time.Minute}})
}
`)
	text, err := os.ReadFile(filepath.Join(p.dir, "mylock.go"))
	require.NoError(p, err)
	p.write("mylock.go", strings.Replace(string(text), "redis.NewScript(`", "redis.NewScript(`do return redis.call("+
		`"del", KEYS[1]) end `, 1))
	out, code := goCommand(p, "go test -count 1 -short .")
	require.Equal(p, 1, code, out)
	require.Empty(p, misfit(b.text, out), "the README prints this line; go test prints\n%s", out)
}

// suiteIn returns a function that writes a block with a suite to file. It has to be readable.
func suiteIn(file string) func(place, block) {
	return func(p place, b block) {
		_, err := suite.Read(p.write(file, b.text))
		require.NoError(p, err)
	}
}

// suiteRun runs a block with a suite. Each run has to be as expected.
func suiteRun(p place, b block) {
	text := strings.NewReplacer(b.instead...).Replace(b.text)
	p.write("mine.yaml", text)
	out, code := p.shell("doublegrant suite mine.yaml")
	require.Zero(p, code, out)
}

// planFile reads a block with a plan, which has to be possible.
func planFile(p place, b block) {
	read, err := plan.ReadPlan(p.write("plan.yaml", b.text))
	require.NoError(p, err)
	_, err = read.Resolve()
	require.NoError(p, err)
}

// workflow checks a block with steps for GitHub Actions. Each step uses an action or runs commands. Those of
// doublegrant have to exist, and none may hide its exit code.
func workflow(p place, b block) {
	var doc struct {
		Steps []struct {
			Uses, Run, If, Name string
			With                map[string]string
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(b.text))
	dec.KnownFields(true)
	require.NoError(p, dec.Decode(&doc))
	require.NotEmpty(p, doc.Steps)
	for _, s := range doc.Steps {
		require.NotEqual(p, s.Uses == "", s.Run == "", "a step uses an action or runs commands: %v", s)
		require.NotContains(p, s.Run, "go run", "it would turn exit code 64 into 1")
		block{text: s.Run}.requireNames(p.T)
	}
}

// external runs a block with commands for a Redis that is there already. It starts one, with TLS and minimal rights.
func external(p place, b block) {
	d := clientstest.Start(p.T, clientstest.Options{Rules: leastRules, TLS: true})
	for name, from := range map[string]string{"ca.pem": "ca.pem", "client.pem": "client.pem", "client.key": "client.key"} {
		text, err := os.ReadFile(d.File(from))
		require.NoError(p, err)
		p.write(name, string(text))
	}
	const url, host = "rediss://tester:SECRET@redis.example:6379", "redis.example:6379"
	require.Contains(p, b.text, url)
	line := strings.ReplaceAll(strings.ReplaceAll(b.text, url, d.URL()), host, d.Nodes[0].Announced)
	const files = "--redis-ca ca.pem"
	require.Contains(p, line, files)
	out, code := p.shell(strings.ReplaceAll(line, files, files+" --redis-cert client.pem --redis-key client.key "+
		"--clients 20 --rate 500 --pacing closed --ttl 500ms --fault-for 1s"))
	require.Zero(p, code, out)
}

// leastRights compares a block of ACL rules with those under which tests of an external Redis run.
func leastRights(p place, b block) {
	require.Equal(p, "ACL SETUSER tester on >SECRET "+leastRules, strings.Join(strings.Fields(b.text), " "))
}

// historyFolder checks that the history of a run has the files that the block lists.
func historyFolder(p place, b block) {
	p.ends(0, "run", "sequence/incr", "--clients", "5", "--rate", "200", "--pacing", "closed", "--duration", "300ms",
		"--calm", "100ms")
	for line := range strings.Lines(b.text) {
		if name := strings.Fields(line)[0]; name != "history/" && name != "reserve" { // which goes with the run's end
			require.FileExists(p, filepath.Join(p.dir, "results/latest/history", name))
		}
	}
}

// historyLines has doublegrant check a block of lines in the text form of a history.
func historyLines(p place, b block) {
	out, errs, code := p.command("check", "--history", p.write("mine.jsonl", b.text+"\n"), "--model", "lock")
	require.Contains(p, []int{cli.ExitMet, cli.ExitUnknown}, code, "%s%s", out, errs)
}
