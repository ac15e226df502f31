package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/history"
)

// FuzzFrames feeds the reader frames with right checksums and any content. It must return an error, or operations that
// stay the same when they are written again.
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
