package adapter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A log keeps what a process writes to its standard error up to a limit, and says how many bytes it left out.
func TestAProcessCannotFloodItsLog(t *testing.T) {
	defer func(old int) { longestLog = old }(longestLog)
	longestLog = 100
	dir := t.TempDir()
	for end, writes := range map[string][]string{
		"connection 04 was lost\n... and 1035 bytes more, which were left out\n": slices.Repeat(
			[]string{"connection %02d was lost\n"}, 50),
		"all on one line, in pieces, \n... and 84 bytes more, which were left out\n": slices.Repeat(
			[]string{"all on one line, in pieces, "}, 7),
		"a last line without an end": {"a last line without an end"},
	} {
		l, err := openLog(dir, "client-1.log")
		require.NoError(t, err)
		for i, w := range writes {
			if strings.Contains(w, "%") {
				w = fmt.Sprintf(w, i)
			}
			_, err := l.Write([]byte(w))
			require.NoError(t, err)
		}
		require.NoError(t, l.Close())
		kept, err := os.ReadFile(filepath.Join(dir, "client-1.log"))
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(string(kept), end), "%s", kept)
	}

	none, err := openLog("", "client-1.log")
	require.NoError(t, err)
	require.Nil(t, none)
}
