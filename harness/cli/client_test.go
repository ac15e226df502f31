package cli_test

import (
	"os/exec"
	"testing"

	"github.com/doublegrant/doublegrant/harness/testenv"
)

const python = "/usr/bin/python3"

// pythonWithRedis skips a test where Python has no redis-py.
func pythonWithRedis(t *testing.T) {
	t.Helper()
	if exec.Command(python, "-c", "import redis").Run() != nil {
		testenv.LeftOut(t, "clients in Python", "make clients installs python3-redis")
	}
}
