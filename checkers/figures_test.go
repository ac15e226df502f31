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

// everyFigure holds judgements that together have all figures, even those that most runs lack.
func everyFigure(t *testing.T) []harness.Judgement {
	partitioned := of(
		add(0, 0, 1, 2), add(1, 1, 1, 2), add(0, 2, 12, 13), add(1, 3, 12, 13), guarded(0, "a", 1, 21, 22),
		read(99, 99, "0-1,3"), on(harness.Guarded("k"), read(99, 99, "1")),
	)
	partitioned.Faults = []harness.Fault{{Name: "partition", Start: 10, Active: 10, Heal: 20, End: 30, Groups: []int{0}}}
	spread := of(acquire(0, "a", 1, 2, 100))
	spread.Events = []harness.Event{{Kind: harness.EventClockBound, Node: "generator 1", Detail: "1ms"}}
	twice := []harness.Op{acquire(0, "a", 1, 2, 100), acquire(1, "b", 3, 4, 100), extend(0, "a", 5, 6, 100)}
	var all []harness.Judgement
	for c, h := range map[harness.Checker]harness.History{
		Mutex(): of(twice...), Fence(): of(twice...), Holders(): of(twice...), Stuck(): of(twice...), Gates(): spread,
		SecondOpinion(Budget{Ops: 60}): of(twice...),
		Dedup():                        of(claim(0, 1, 2, 100), confirm(0, 3, 4, 100)), Delivery(): of(claim(0, 1, 2, 100)),
		Sequence(): of(next(0, 1, 2, "1"), next(0, 3, 4, "1")), Stored(): of(next(0, 1, 2, "1")),
		Writes(): partitioned,
	} {
		g, _ := judge(t, c, h)
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

// TestFiguresNameTheirCheckers: a checker that is renamed takes its figures along.
func TestFiguresNameTheirCheckers(t *testing.T) {
	var names []string
	for _, g := range everyFigure(t) {
		names = append(names, g.Checker)
	}
	for _, m := range declared {
		require.True(t, m.Checker == "" || slices.Contains(names, m.Checker), "no checker is called %q", m.Checker)
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
