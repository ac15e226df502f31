package docker

import (
	"errors"
	"os"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

// TB is the part of testing.TB that Need needs.
type TB interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Need skips a test if clusters cannot run in containers, and says why. If $CI or $DOUBLEGRANT_REQUIRE_DOCKER is set it
// fails the test instead, so that a test that is always skipped does not count as passed. It also fails the test if
// TestMain does not call Watchdog.
func Need(t TB) {
	t.Helper()
	_, err := cluster.Options{Platform: Platform{}}.Preflight()
	switch {
	case err == nil:
	case isSet("CI") || isSet("DOUBLEGRANT_REQUIRE_DOCKER") || errors.Is(err, errNoWatchdog):
		t.Fatalf("this test has to run here: %v", err)
	default:
		t.Skipf("not run: %v", err)
	}
}

// isSet reports whether an environment variable is set to something other than "0" and "false".
func isSet(name string) bool {
	v := os.Getenv(name)
	return v != "" && v != "0" && v != "false"
}
