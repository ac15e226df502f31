package harness_test

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// reasons are texts in stored histories. Changing one would change the meaning of old histories.
var reasons = map[string]string{
	"held":                     harness.Held,
	"not mine":                 harness.NotMine,
	"crashed":                  harness.Crashed,
	"too few acknowledgements": harness.FewAcks,
}

func TestReasonsInHistoriesStay(t *testing.T) {
	for text, reason := range reasons {
		require.Equal(t, text, reason)
	}
}

// TestReasonsStandInOnePlace searches all packages for reasons that are spelled out. Such code would miss a change.
func TestReasonsStandInOnePlace(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	found := map[string][]string{} // by file
	require.NoError(t, eachSource(root, func(folder, path string, file *ast.File) {
		name := filepath.Join(folder, filepath.Base(path))
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil && reasons[text] != "" {
					found[name] = append(found[name], text)
				}
			}
			return true
		})
	}))
	here := filepath.Join("harness", "reason.go")
	require.Len(t, found[here], len(reasons), "the search does not see the constants themselves")
	delete(found, here)
	require.Empty(t, found, "say harness.Held and the like")
}

func TestDenied(t *testing.T) {
	for err, want := range map[string]bool{harness.Held: true, harness.NotMine: true, "READONLY": false} {
		require.Equal(t, want, harness.Op{Outcome: harness.Fail, Err: err}.Denied(), err)
		require.False(t, harness.Op{Outcome: harness.Info, Err: err}.Denied(), err)
	}
}

func TestErrorRepliesAreTheirFirstWord(t *testing.T) {
	for reason, want := range map[string]bool{"READONLY": true, "ERR": true, "": false, "held": false,
		"READ ONLY": false, "timeout": false} {
		require.Equal(t, want, harness.IsErrorReply(reason), reason)
	}
}
