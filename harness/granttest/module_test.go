package granttest_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/stretchr/testify/require"
)

// userModule is a module that uses this package, like a user's. It is built from the module cache alone.
type userModule struct{ dir string }

const project = "github.com/doublegrant/doublegrant"

// newModule copies testdata/module into a new module, which takes this project from its folder.
func newModule(t *testing.T) userModule {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	m := userModule{t.TempDir()}
	require.NoError(t, os.CopyFS(m.dir, os.DirFS("testdata/module")))
	m.write(t, "go.mod", fmt.Sprintf("module example.com/mylock\n\ngo 1.26.0\n\nrequire %s v0.0.0\n\nreplace %[1]s "+
		"=> %s\n", project, root))
	sums, err := os.ReadFile("../../go.sum")
	require.NoError(t, err)
	m.write(t, "go.sum", string(sums))
	return m
}

func (m userModule) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o644))
}

// run runs a command in the module's folder. Go commands link without tables for debuggers, which halves the time.
func (m userModule) run(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -vet=off '-ldflags=-s -w'", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A test of a lock takes at most twelve lines, with one import of this project.
func TestAUsersModuleNeedsOneImport(t *testing.T) {
	text, err := os.ReadFile("testdata/module/mylock_test.go")
	require.NoError(t, err)
	require.LessOrEqual(t, bytes.Count(text, []byte("\n")), 12)
	require.Equal(t, 1, bytes.Count(text, []byte(project)))
}

// A user's test links no packages for containers.
func TestAUsersModuleLinksNoContainers(t *testing.T) {
	m := newModule(t)
	linked, err := m.run("go", "list", "-deps", "-test", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	require.NoError(t, err, linked)
	require.Contains(t, linked, "go-redis")
	for _, heavy := range []string{"testcontainers", "moby", "docker", "opentelemetry", "nats-io"} {
		require.NotContains(t, linked, heavy)
	}
}

// A race that a user's test finds is saved beside the test. The printed command repeats it by the saved file alone.
// When the lock is mended the test passes.
func TestLongAUsersModuleKeepsItsRaces(t *testing.T) {
	testenv.NeedLong(t)
	m := newModule(t)
	good, err := os.ReadFile(filepath.Join(m.dir, "mylock.go"))
	require.NoError(t, err)
	blind := strings.Replace(string(good), `redis.NewScript(`+"`", `redis.NewScript(os.Getenv("MY_RELEASE") + `+"`", 1)
	m.write(t, "mylock.go", strings.Replace(blind, `"context"`, `"context"; "os"`, 1))
	t.Setenv("MY_RELEASE", `do return redis.call("del", KEYS[1]) end `)
	out, err := m.run("go", "test", "-short", "-o", "mine", ".")
	require.Error(t, err)
	require.Contains(t, out, "mylock.MyLock is not a lock")
	require.Contains(t, out, "mylock_test.go:10: ", "the failure is said to be in the user's file")
	files, err := filepath.Glob(filepath.Join(m.dir, "testdata/granttest/TestMyLock/*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)

	require.Regexp(t, `(?m)repeat it: go test -run '\^TestMyLock\$' example\.com/mylock$`, out)
	out, err = m.run("./mine", "-test.run", "^TestMyLock$")
	require.Error(t, err)
	require.Contains(t, out, "happens again")

	t.Setenv("MY_RELEASE", "")
	passed, err := m.run("./mine", "-test.short", "-test.v", "-test.run", "^TestMyLock$")
	require.NoError(t, err, passed)
	require.Contains(t, passed, "--- PASS: TestMyLock")
	require.Contains(t, passed, "no order of commands breaks it")
}
