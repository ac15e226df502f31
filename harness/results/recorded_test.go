package results

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A disk that is full before the first operation leaves a folder without a record, which no message names.
func TestARunThatRecordedNothing(t *testing.T) {
	require.False(t, Outcome{}.Recorded())
	out := Outcome{Dir: t.TempDir()}
	require.False(t, out.Recorded())
	segment := filepath.Join(out.Dir, historyDir, "ops-000001.seg")
	require.NoError(t, os.Mkdir(filepath.Dir(segment), 0o755))
	require.NoError(t, os.WriteFile(segment, nil, 0o600))
	require.False(t, out.Recorded())
	require.NoError(t, os.WriteFile(segment, []byte("x"), 0o600))
	require.True(t, out.Recorded())
}
