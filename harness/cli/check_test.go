package cli

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPipeThatNobodyWritesToIsWaitedForUntilSomebodyInterrupts(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := openReadable(ctx, pipe)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, pipe)
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // the waiting reader continues
	require.NoError(t, err)
	require.NoError(t, writer.Close())
}
