package harness_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// Each situation of this package is listed, once.
func TestAllSituationsAreListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "situation.go", nil, 0)
	require.NoError(t, err)
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			declared += len(v.Names)
		}
		return true
	})
	names := map[harness.SituationName]bool{}
	for _, name := range harness.AllSituations() {
		require.False(t, names[name], name)
		names[name] = true
	}
	require.Len(t, names, declared)
}
