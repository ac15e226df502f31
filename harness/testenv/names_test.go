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
// name its package. A test of another name that says so would never run.
func TestEveryLongTestIsRunByTestLong(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	var packages []string
	for _, line := range regexp.MustCompile(`(?m)^\t\$\(LONG\) .*$`).FindAllString(string(makefile), -1) {
		packages = append(packages, strings.Fields(line)...)
	}
	long := 0
	for _, depth := range []string{"*", "*/*", "*/*/*", "*/*/*/*"} {
		files, err := filepath.Glob("../../" + depth + "/*_test.go")
		require.NoError(t, err)
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok || !strings.HasPrefix(f.Name.Name, "Test") {
					continue
				}
				named := strings.HasPrefix(f.Name.Name, "TestLong")
				require.Equal(t, named, saysThatItIsLong(f), "%s of %s", f.Name.Name, name)
				if named {
					dir := "./" + strings.TrimPrefix(filepath.Dir(name), "../../")
					require.True(t, slices.Contains(packages, dir), "%s of %s", f.Name.Name, dir)
					long++
				}
			}
		}
	}
	require.Greater(t, long, 20)
}

// saysThatItIsLong reports whether the first statement of a test is a call of NeedLong or NeedDeep.
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
	return ok && (function.Sel.Name == "NeedLong" || function.Sel.Name == "NeedDeep")
}
