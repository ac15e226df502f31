// Package testenv decides which of this project's own tests run. It records what the machine lacks for tests that are
// left out.
//
// make test runs the quick tests. make test-long runs the tests whose names begin with TestLong; these call NeedLong
// first. make test-deep runs them as well, with larger tables.
package testenv

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Environment variables that the Makefile sets.
const (
	tests      = "DOUBLEGRANT_TESTS"           // "long" or "deep"; empty: the quick tests
	seed       = "DOUBLEGRANT_TEST_SEED"       // a whole number that chooses the cases of this run; empty: 0
	notesFile  = "DOUBLEGRANT_LEFT_OUT"        // the file to which LeftOut appends; empty: none
	requireAll = "DOUBLEGRANT_REQUIRE_CLIENTS" // if set, no test may be left out
)

// Deep reports whether the run includes all cases of the tables of long tests, which takes up to an hour.
func Deep() bool { return os.Getenv(tests) == "deep" }

// NeedLong skips a test unless the run includes long tests.
func NeedLong(t testing.TB) {
	t.Helper()
	if os.Getenv(tests) != "long" && !Deep() {
		t.Skip("make test-long")
	}
}

// Sampled reports whether this run takes case i of a table. A run takes one case in n. The seed chooses which, so runs
// with other seeds take other cases. If n is less than two, or in a deep run, the run takes all cases.
func Sampled(i, n int) bool {
	return Deep() || n < 2 || i%n == Seed()%n
}

// Seed returns the seed of this run, 0 or more. It panics if the environment variable holds anything else.
func Seed() int {
	text := os.Getenv(seed)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		panic(seed + " is " + strconv.Quote(text) + ": want a whole number, 0 or more")
	}
	return int(n)
}

// LeftOut skips a test because the machine lacks something. It notes what is left out and the remedy, such as "install
// php-redis", which make test prints at its end. If nothing may be left out, as in CI, LeftOut fails the test.
func LeftOut(t testing.TB, what, remedy string) {
	t.Helper()
	if os.Getenv(requireAll) != "" {
		t.Fatalf("%s cannot be tested: %s", what, remedy)
	}
	note(t, what, remedy)
	t.Skipf("%s: %s", what, remedy)
}

// Noting returns t with another Skipf, which first notes what is left out and the remedy, as LeftOut does.
func Noting(t testing.TB, what, remedy string) testing.TB { return noting{t, what, remedy} }

type noting struct {
	testing.TB
	what, remedy string
}

func (n noting) Skipf(format string, args ...any) {
	n.Helper()
	note(n.TB, n.what, n.remedy)
	n.TB.Skipf(format, args...)
}

// note appends a line to the file of notes. It does so in one write, since packages are tested concurrently.
func note(t testing.TB, what, remedy string) {
	t.Helper()
	name := os.Getenv(notesFile)
	if name == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(what + ": " + remedy + "\n"); err != nil {
		t.Fatal(err)
	}
}
