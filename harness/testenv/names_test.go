package testenv_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tests whose names begin with TestLong are left out of make test. So they must call NeedLong, and make test-long must
// include their package. A test with another name that calls NeedLong would never run. Likewise TestRaced tests need a
// run of the race detector in their package.
func TestEveryTestIsRun(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	packages := func(lines string) (all []string) {
		for _, line := range regexp.MustCompile(lines).FindAllString(string(makefile), -1) {
			all = append(all, strings.Fields(line)...)
		}
		return all
	}
	long, raced := packages(`(?m)^\t\$\(LONG\) .*$`), packages(`(?m)^RACED(_IN)? +:=.*$`)
	// A long test calls NeedLong first.
	tests := regexp.MustCompile(`(?m)^func (Test(Long|Raced)?\w*)\([^{]*\{\s*(testenv\.NeedLong\(t\))?`)
	seen := map[string]int{}
	for _, depth := range []string{"*", "*/*", "*/*/*", "*/*/*/*"} {
		files, err := filepath.Glob("../../" + depth + "/*_test.go")
		require.NoError(t, err)
		for _, name := range files {
			dir := "./" + strings.TrimPrefix(filepath.Dir(name), "../../")
			source, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, test := range tests.FindAllStringSubmatch(string(source), -1) {
				kind := test[2]
				seen[kind]++
				require.Equal(t, kind == "Long", test[3] != "", "%s of %s", test[1], name)
				require.False(t, kind == "Long" && !slices.Contains(long, dir), "%s of %s", test[1], dir)
				require.False(t, kind == "Raced" && !slices.Contains(raced, dir), "%s of %s", test[1], dir)
			}
		}
	}
	require.Greater(t, seen["Long"], 20)
	require.NotZero(t, seen["Raced"])
}
