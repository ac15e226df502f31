package harness_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// Each situation of this package is listed once.
func TestAllSituationsAreListed(t *testing.T) {
	source, err := os.ReadFile("situation.go")
	require.NoError(t, err)
	names := map[string]int{}
	for _, declared := range regexp.MustCompile(`(?m)^\t\w+ .*= "([^"]+)"`).FindAllSubmatch(source, -1) {
		names[string(declared[1])]++
	}
	for _, name := range harness.AllSituations() {
		names[string(name)]--
		require.Zero(t, names[string(name)], name)
	}
	for name, left := range names {
		require.Zero(t, left, name)
	}
}
