package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/reports"
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

func TestWhoWasAskedNothingIsNotPrintedAsValid(t *testing.T) {
	var out strings.Builder
	(&app{out: &out}).printReport(reports.Report{Judged: harness.Judged{Verdict: harness.Valid,
		Judgements: []harness.Judgement{
			{Checker: "mutex", Verdict: harness.Valid, Reason: "none overlap"},
			{Checker: "porcupine", Unasked: true, Reason: "all were too large"},
		}}})
	require.Contains(t, out.String(), "  mutex     valid     none overlap\n  porcupine not asked all were too large\n")
}
