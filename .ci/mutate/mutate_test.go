package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const sample = `package p

func f(a, b int, c bool) int {
	const k = 1 < 2
	if a < b && !c {
		return a + b
	}
	for range a {
		if c {
			continue
		}
		a++
	}
	return a
}
`

func TestMutantsOfASample(t *testing.T) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", sample, 0)
	require.NoError(t, err)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	_, err = (&types.Config{}).Check("p", fset, []*ast.File{file}, info)
	require.NoError(t, err)
	mutants, sites := find(fset, info, file, "p.go", []byte(sample), 1)
	var keys []string
	for _, m := range mutants {
		keys = append(keys, strings.TrimPrefix(m.key(), "p.go f: "))
	}
	slices.Sort(keys)
	require.Equal(t, []string{
		"a + b => a - b", "a < b => a <= b", "a < b => a >= b", "a++ => a--", "c => !c", "c => !c (2)",
		"continue => nothing", "return a + b => nothing",
	}, keys)

	woven := weave(fset.File(file.Pos()), []byte(sample), sites)
	const chosen = "\nvar mutantOn int\nfunc mutantValue[T any](n int, is, instead T) T { return is }\n"
	file, err = parser.ParseFile(fset, "q.go", woven+chosen, 0)
	require.NoError(t, err, woven)
	_, err = (&types.Config{}).Check("p", fset, []*ast.File{file}, nil)
	require.NoError(t, err, woven)
}

func TestLists(t *testing.T) {
	l, err := parseList(strings.NewReader("# why\na => b\nc => d\n\tsame\n\tagain\ne => f\n other\n"))
	require.NoError(t, err)
	require.Equal(t, list{"a => b": "same again", "c => d": "same again", "e => f": "other"}, l)
	for text, want := range map[string]string{
		"a => b\n":         "no reason for a => b",
		"\twhy\n":          "a reason without a mutant",
		"a\n\tx\na\n\ty\n": "stands there twice",
	} {
		_, err := parseList(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

func TestSurvivorsAreHeldAgainstTheList(t *testing.T) {
	m := func(n int, was string) mutant {
		return mutant{number: n, file: "p.go", function: "f", before: was, after: "x"}
	}
	all := []mutant{m(1, "a"), m(2, "b"), m(3, "c")}
	for _, c := range []struct {
		name     string
		listed   list
		survived map[int]bool
		want     string // "": nothing to report
	}{
		{"all noticed", list{}, nil, ""},
		{"listed", list{"p.go f: b => x": "why"}, map[int]bool{2: true}, ""},
		{"not listed", list{}, map[int]bool{2: true}, "no test notices: p.go:0: p.go f: b => x"},
		{"noticed", list{"p.go f: b => x": "why"}, nil, "though a test notices it: p.go f: b => x"},
		{"gone", list{"p.go f: z => x": "why"}, nil, "though there is no such mutant: p.go f: z => x"},
	} {
		var out strings.Builder
		require.Equal(t, c.want == "", c.listed.report(all, all, c.survived, &out), c.name)
		require.Contains(t, out.String(), c.want, c.name)
	}
}

func TestDurationsCountPartsThatRunInParallel(t *testing.T) {
	got := durations([]byte("--- PASS: TestA (0.10s)\n    --- PASS: TestA/x (0.30s)\n    --- PASS: TestA/y (0.40s)\n" +
		"--- PASS: TestB (0.20s)\n"))
	require.Equal(t, map[string]time.Duration{"TestA": 700 * time.Millisecond, "TestB": 200 * time.Millisecond}, got)
}
