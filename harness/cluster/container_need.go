package cluster

import (
	"context"
	"os"
)

// TB is the part of testing.TB that NeedDocker needs.
type TB interface {
	Helper()
	Context() context.Context
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// NeedDocker skips a test that runs clusters OnDocker where they cannot run, and says why. It fails the test instead
// where $CI or $DOUBLEGRANT_REQUIRE_DOCKER is set: there a test that is always skipped would pass for one that holds.
func NeedDocker(t TB) {
	t.Helper()
	_, err := Options{On: OnDocker}.preflight(t.Context(), 1)
	switch {
	case err == nil:
	case isSet("CI") || isSet("DOUBLEGRANT_REQUIRE_DOCKER"):
		t.Fatalf("this test has to run here: %v", err)
	default:
		t.Skipf("not run: %v", err)
	}
}

// isSet reports whether an environment variable says yes.
func isSet(name string) bool {
	v := os.Getenv(name)
	return v != "" && v != "0" && v != "false"
}
