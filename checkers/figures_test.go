package checkers

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// declaration finds the declaration of a figure; those of groups have the group's number in their names.
func declaration(checker, name string) int {
	return slices.IndexFunc(declared, func(m harness.Metric) bool {
		before, after, group := strings.Cut(m.Name, "%d")
		return (m.Checker == "" || m.Checker == checker) &&
			(m.Name == name || group && strings.HasPrefix(name, before) && strings.HasSuffix(name, after))
	})
}

// The histories of the evidence together have all figures. A checker that is renamed takes its figures along.
func TestEveryFigureIsDeclaredAndReported(t *testing.T) {
	reported := map[int]bool{}
	for _, e := range evidence {
		g, _ := judge(t, e.c, e.h)
		require.NotContains(t, g.Reason, "panicked")
		for _, f := range g.Figures {
			i := declaration(g.Checker, f.Name)
			require.GreaterOrEqual(t, i, 0, "%s reports %q, which figures.go does not declare", g.Checker, f.Name)
			require.Equal(t, declared[i].Unit, f.Unit, f.Name)
			reported[i] = true
		}
	}
	for i, m := range declared {
		require.True(t, reported[i], "the checker %s never reports %q", m.Checker, m.Name)
	}
	text, err := os.ReadFile("figures.go")
	require.NoError(t, err)
	require.Len(t, declared, strings.Count(string(text), " = harness.Metric{"), "the list of those that figures.go declares is whole")
}
