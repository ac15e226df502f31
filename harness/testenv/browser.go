package testenv

import (
	"os"
	"os/exec"
	"testing"
)

// requireBrowser is the environment variable that the Makefile sets if tests that need a browser must not be left out.
const requireBrowser = "DOUBLEGRANT_REQUIRE_BROWSER"

// Browser returns the path of a Chromium. If the machine has none, it leaves the test out, as LeftOut does.
func Browser(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const what, remedy = "pages in a browser", "make browser, or install chromium"
	if os.Getenv(requireBrowser) != "" {
		t.Fatalf("%s cannot be tested: %s", what, remedy)
	}
	LeftOut(t, what, remedy)
	return ""
}
