package history_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/history"
)

// FuzzFrames feeds the reader frames whose checksums are right and whose content is anything: it must end, in an error or
// in operations that come back the same when they are written again.
func FuzzFrames(f *testing.F) {
	f.Add(history.Encoded(someOps(5)))
	f.Add(history.Encoded(oddOps()))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ops, err := history.Decoded(raw)
		if err != nil {
			return
		}
		again, err := history.Decoded(history.Encoded(ops))
		require.NoError(t, err)
		require.Equal(t, ops, again)
	})
}

// FuzzSegment feeds the reader files of anything.
func FuzzSegment(f *testing.F) {
	dir := f.TempDir()
	ended(f, dir, someOps(5), oddOps())
	path := filepath.Join(dir, "ops-000001.seg")
	whole, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Fuzz(func(t *testing.T, b []byte) {
		ops, err := history.Read(b)
		if err == nil {
			_ = history.Encoded(ops) // what is read is sound
		}
	})
}
