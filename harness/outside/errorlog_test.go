package outside

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a process writes to its standard error is kept to a bound, and the rest is counted.
func TestAProcessCannotFloodItsLog(t *testing.T) {
	defer func(old int) { longestLog = old }(longestLog)
	longestLog = 100
	dir := t.TempDir()
	l, err := openLog(dir, "client-1.log")
	require.NoError(t, err)
	for i := range 50 {
		_, err := fmt.Fprintf(l, "connection %02d was lost\n", i)
		require.NoError(t, err)
	}
	require.NoError(t, l.Close())
	kept, err := os.ReadFile(filepath.Join(dir, "client-1.log"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(kept)), "\n")
	require.Len(t, lines, 6)
	require.Equal(t, "connection 04 was lost", lines[4])
	require.Equal(t, "... and 45 lines more, which were left out", lines[5])

	none, err := openLog("", "client-1.log")
	require.NoError(t, err)
	require.Nil(t, none)
}
