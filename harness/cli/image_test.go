package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// image is an image of doublegrant for one test.
type image struct{ docker.BuiltImage }

// imageOf builds an image of a program, and removes it after the test. It skips the test where there is no Docker.
func imageOf(t *testing.T, program string) image {
	t.Helper()
	needDocker(t)
	name := fmt.Sprintf("doublegrant/test:%d", os.Getpid())
	t.Cleanup(func() {
		out, err := exec.Command("docker", "image", "rm", name).CombinedOutput()
		require.NoError(t, err, string(out))
	})
	made, err := docker.BuildHarnessImage(t.Context(),
		docker.Harness{Name: name, Program: program, Version: "1.2.3 of a test"})
	require.NoError(t, err)
	return image{made}
}

// confined has options of docker run for a container with minimal rights: no network, no capabilities, and only /tmp to
// write to.
var confined = []string{
	"--network", "none", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
}

// run runs doublegrant in a container, with options of docker run.
func (i image) run(t *testing.T, options []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	words := []string{"run", "--rm", "--name", fmt.Sprintf("doublegrant-test-%d", os.Getpid()), "--env",
		asCommand + "=1"}
	words = append(append(append(words, options...), i.Name), args...)
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "docker", words...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // docker passes it on
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// mounted makes a folder for results whose owner is unknown inside the container, and returns the options that mount
// it.
func mounted(t *testing.T) (folder string, options []string) {
	t.Helper()
	folder = t.TempDir()
	user := os.Getuid()
	if user == 0 {
		user = 12345
		require.NoError(t, os.Chown(folder, user, user))
	}
	return folder, []string{"--user", fmt.Sprintf("%d:%d", user, user), "--volume", folder + ":/results"}
}

func TestTheImageRunsDoublegrant(t *testing.T) {
	t.Parallel()
	i := imageOf(t, "") // of this test's own binary
	t.Run("and says what is in it", func(t *testing.T) {
		out, errs, code := i.run(t, confined, "version")
		require.Zero(t, code, errs)
		require.Regexp(t, `^doublegrant [^\n]*\nimage `+i.Name+`, Redis `+i.Redis+`\n$`, out)

		out, errs, code = i.run(t, nil, "doctor", "-o", "json")
		require.Zero(t, code, out+errs)
		require.Contains(t, out, `/usr/local/bin/redis-server: Redis server v=`+i.Redis)
		require.Contains(t, out, "only --on docker needs it: ")
	})
	t.Run("whose results come out", func(t *testing.T) {
		folder, options := mounted(t)
		out, errs, code := i.run(t, slices.Concat(confined, options), "run", "sequence/incr", "--topology",
			"standalone", "--duration", "1s", "--clients", "10", "--rate", "200")
		require.Zero(t, code, out+errs)
		verdict, err := os.ReadFile(filepath.Join(folder, "latest", "verdict.json"))
		require.NoError(t, err)
		require.True(t, json.Valid(verdict))
		info, err := os.Stat(filepath.Join(folder, "latest", "report.html"))
		require.NoError(t, err)
		owner := info.Sys().(*syscall.Stat_t)
		require.Equal(t, options[1], fmt.Sprintf("%d:%d", owner.Uid, owner.Gid), "they belong to whoever runs it")
	})
	t.Run("with clocks that stand still", func(t *testing.T) { // nothing can be loaded from a tmpfs of Docker's
		require.True(t, i.Clocks, "this machine has no compiler")
		out, errs, code := i.run(t, []string{"--tmpfs", "/tmp"}, "explore", "lock/set-nx-px", "--clients", "2",
			"--crashes", "0")
		require.Zero(t, code, out+errs)
		require.NotContains(t, out, "clocks could not be set")
	})
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"but not beside others", []string{"run", "sequence/incr", "--on", "docker"}, cli.ExitFailed,
			"no Docker inside the image " + i.Name + ": "},
		{"but not on its root", []string{"run", "sequence/incr"}, cli.ExitUsage,
			"results cannot be kept in results: .*; in a container: mount a folder there"},
		{"but no Python", []string{"explore", "lib/redis-py-lock"}, cli.ExitFailed, "python3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errs, code := i.run(t, confined, c.args...)
			require.Equal(t, c.code, code, out+errs)
			require.Regexp(t, `^doublegrant: [^\n]*`+c.says+`[^\n]*\n$`, errs)
		})
	}
}

// TestLongTheStaticImageGivesTheTour builds the image as make harness-image does, and runs all that the README shows.
func TestLongTheStaticImageGivesTheTour(t *testing.T) {
	testenv.NeedLong(t)
	program := filepath.Join(t.TempDir(), "doublegrant")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, filepath.Join(source, "../cmd/doublegrant"))
	build.Dir = source
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	i := imageOf(t, program)
	t.Logf("%s: %d bytes", i.Name, i.Size)
	folder, options := mounted(t)
	said, errs, code := i.run(t, slices.Concat(confined, options), "demo")
	require.Contains(t, said, "Reports: results/index.html", errs)
	if !strings.Contains(said, "too slow or too busy") { // of this machine nothing is to be shown here
		require.Zero(t, code, said+errs)
	}
	require.NotContains(t, said, "NOT as documented")
	require.FileExists(t, filepath.Join(folder, "index.html"))

	said, errs, code = i.run(t, append(options, "--init"), "explore", "lock/set-nx-px-blind-del", "--workers", "2")
	require.Equal(t, cli.ExitInvalid, code, said+errs)
	require.Contains(t, said, "INVALID  2 counterexamples")
}
