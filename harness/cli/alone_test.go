package cli_test

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// aloneEnv tells a test that it is alone in its process.
const aloneEnv = "DOUBLEGRANT_TEST_ALONE"

// alone reports whether the test is alone in its process. Where it is not, it is run in one, beside other tests, and the caller returns.
// This is for tests that take long and change the working directory or the environment, which a process has once.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneEnv) != "" {
		return true
	}
	t.Parallel()
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v"}
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "test.timeout" || f.Name == "test.short" || !strings.HasPrefix(f.Name, "test.") {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), aloneEnv+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	if strings.Contains(string(out), "\n--- SKIP: "+t.Name()) {
		t.Skip(string(out))
	}
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	return false
}
