package testenv_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A test whose name begins with TestLong is left out of make test. So it has to say that it is long, and make test-long has to
// name its package. A test of another name that says so would never run. Likewise a TestRaced is left to the race detector, which
// has to come to its package.
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
	seen := map[string]int{}
	for _, depth := range []string{"*", "*/*", "*/*/*", "*/*/*/*"} {
		files, err := filepath.Glob("../../" + depth + "/*_test.go")
		require.NoError(t, err)
		for _, name := range files {
			dir := "./" + strings.TrimPrefix(filepath.Dir(name), "../../")
			for _, test := range testsIn(t, name) {
				kind := regexp.MustCompile("^Test(Long|Raced)").FindString(test.Name.Name)
				seen[kind]++
				require.Equal(t, kind == "TestLong", saysThatItIsLong(test), "%s of %s", test.Name.Name, name)
				require.False(t, kind == "TestLong" && !slices.Contains(long, dir), "%s of %s", test.Name.Name, dir)
				require.False(t, kind == "TestRaced" && !slices.Contains(raced, dir), "%s of %s", test.Name.Name, dir)
			}
		}
	}
	require.Greater(t, seen["TestLong"], 20)
	require.NotZero(t, seen["TestRaced"])
}

func testsIn(t *testing.T, name string) (all []*ast.FuncDecl) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
			all = append(all, f)
		}
	}
	return all
}

// saysThatItIsLong reports whether the first statement of a test is a call of NeedLong.
func saysThatItIsLong(test *ast.FuncDecl) bool {
	if len(test.Body.List) == 0 {
		return false
	}
	statement, ok := test.Body.List[0].(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := statement.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	function, ok := call.Fun.(*ast.SelectorExpr)
	return ok && function.Sel.Name == "NeedLong"
}
