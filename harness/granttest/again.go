package granttest

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
)

// commandToRepeat returns the command that repeats a test. It works anywhere in the test's module.
func commandToRepeat(test string, flags ...string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(append([]string{"go test -run", shellQuoted(strings.Join(parts, "/")), packagePath()},
		flags...), " ")
}

// packagePath returns the import path of the package under test, or "." if it has none.
func packagePath() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if path, ok := strings.CutSuffix(info.Path, ".test"); ok && path != "command-line-arguments" {
			return path
		}
	}
	return "."
}

// shellQuoted quotes s for a shell, as one word.
func shellQuoted(s string) string {
	return fmt.Sprintf("'%s'", strings.ReplaceAll(s, "'", `'\''`))
}
