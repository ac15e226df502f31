package adapters_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/workloads"
)

// The adapter in Java answers each message correctly. Debian lacks Jedis, so testdata/jedis stands in for it.
func TestTheAdapterInJava(t *testing.T) {
	t.Parallel()
	compiler, folder := java.interpreter(t), t.TempDir()
	files := []string{"-d", folder, "java/Lock.java"}
	require.NoError(t, fs.WalkDir(os.DirFS("."), "testdata/jedis", func(path string, d fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".java" {
			files = append(files, path)
		}
		return err
	}))
	out, err := exec.Command(compiler, files...).CombinedOutput()
	require.NoError(t, err, string(out))
	requireRight(t, workloads.Adapter{Command: []string{"java", "-cp", folder, "Lock"}})
}
