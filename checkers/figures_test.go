package checkers

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// everyFigure returns judgements that together have all figures, even those that most runs lack.
func everyFigure(t *testing.T) (all []harness.Judgement) {
	for _, e := range evidence {
		g, _ := judge(t, e.c, e.h)
		require.NotContains(t, g.Reason, "panicked")
		all = append(all, g)
	}
	return all
}

// declaration finds the declaration of a figure; those of groups have the group's number in their names.
func declaration(checker, name string) int {
	return slices.IndexFunc(declared, func(m harness.Metric) bool {
		before, after, group := strings.Cut(m.Name, "%d")
		return (m.Checker == "" || m.Checker == checker) &&
			(m.Name == name || group && strings.HasPrefix(name, before) && strings.HasSuffix(name, after))
	})
}

// A checker that is renamed takes its figures along.
func TestEveryFigureIsDeclaredAndReported(t *testing.T) {
	reported := map[int]bool{}
	for _, g := range everyFigure(t) {
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
}

// TestTheListOfFiguresIsWhole: declared has every metric that figures.go declares.
func TestTheListOfFiguresIsWhole(t *testing.T) {
	file, err := parser.ParseFile(gotoken.NewFileSet(), "figures.go", nil, 0)
	require.NoError(t, err)
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		if lit, ok := node.(*ast.CompositeLit); ok {
			if of, ok := lit.Type.(*ast.SelectorExpr); ok && of.Sel.Name == "Metric" {
				n++
			}
		}
		return true
	})
	require.Len(t, declared, n)
	require.Positive(t, n)
}
