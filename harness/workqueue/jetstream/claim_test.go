package jetstream

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Several coordinators claim one state folder and remove it, again and again. Each waits for the others, and none loses
// its files to another.
func TestTheLockIsGivenBackLast(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "above", "state")
	var all sync.WaitGroup
	turns := make([]int, 4)
	for me := range turns {
		all.Go(func() {
			for turns[me] < 100 {
				lock, isNew, err := claim(dir)
				if err != nil {
					require.ErrorIs(t, err, ErrTaken)
					continue
				}
				turns[me]++
				token := filepath.Join(dir, TokenFile)
				require.True(t, isNew, "who was here before has removed all")
				require.NoFileExists(t, token)
				require.NoError(t, served{token: strconv.Itoa(me)}.write(dir))
				text, err := os.ReadFile(token)
				require.NoError(t, err)
				require.Equal(t, strconv.Itoa(me)+"\n", string(text))
				require.FileExists(t, filepath.Join(dir, markFile))
				require.NoError(t, removeState(dir))
				require.NoError(t, lock.Close())
			}
		})
	}
	all.Wait()
	require.NoDirExists(t, dir)
}
