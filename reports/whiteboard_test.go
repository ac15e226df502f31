package reports

import (
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/stretchr/testify/require"
)

func TestWhiteboard(t *testing.T) {
	require.Equal(t, `duplicate-delivery in 7 steps:
  1  client 1  GET msg        (nil)
  2  client 2  GET msg        (nil)
  3  client 1  SET msg 1      OK
  4  client 1  EXPIRE msg 20  1     -> is the first: has to deliver msg
  5  client 2  SET msg 1      OK
  6  client 2  EXPIRE msg 20  1     -> is the first: has to deliver msg
  7  client 3  GET msg        1     -> somebody else has msg
  clients 1 and 2 were both told that msg is new, at 0.0045 s and at 0.0065 s, inside its window of 20 s
`, Exploration{Clients: 3}.whiteboard(analysistest.DedupRace()))
	require.Equal(t, `stuck-lock in 5 steps:
  1  client 1  SETNX lock 0-1  1
  2  client 1  crashes
  3  client 2  SETNX lock 1-1  0         -> lock is somebody else's
  4  time      10s pass
  5  harness   acquire lock    fail held -> nobody holds it, and nobody can have it
  nobody holds lock, and after every lease is over it is still refused
`, Exploration{Clients: 2}.whiteboard(analysistest.Stuck()))
}

func TestWhiteboardKeepsToTheWidthOfATerminal(t *testing.T) {
	board := Exploration{Clients: 4}.whiteboard(analysistest.LostGrant())
	for _, row := range strings.Split(board, "\n") {
		require.LessOrEqual(t, units.Letters(row), lineWidth, row)
	}
	require.Contains(t, board, "EVALSHA {take the lock for ARGV")
	require.Contains(t, board, "0017 10000 ", "the end of a long command")
}

func TestTerminalGetsNoControlCharacters(t *testing.T) {
	for name, e := range searches() {
		for _, r := range textOf(t, ExplorationText, e) {
			require.False(t, r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)), "%s: %U", name, r)
		}
	}
	text := textOf(t, ExplorationText, searches()["race"])
	require.True(t, strings.HasPrefix(text, "INVALID  2 counterexamples, the smallest of 5 steps"))
	require.Contains(t, text, "  replay: doublegrant explore --replay anomalies/duplicate-delivery.json\n")
	require.Contains(t, text, "\nsearch again: doublegrant explore dedup/get-set --clients 3\n")
}

func TestFailedWritesAreReported(t *testing.T) {
	reader, pipe := io.Pipe()
	require.NoError(t, reader.Close())
	require.ErrorIs(t, ExplorationText(pipe, searches()["race"]), io.ErrClosedPipe)
	for _, f := range ExplorationFormats() {
		require.ErrorIs(t, f.Write(pipe, searches()["race"]), io.ErrClosedPipe, f.File)
	}
}

func TestNotesAreHarmless(t *testing.T) {
	c := interleave.Counterexample{Anomaly: harness.Anomaly{Note: "a\x1b[31mred\nline\u202e"}}
	require.Equal(t, "a\ufffd[31mred line\ufffd", Exploration{Clients: 3}.note(c))
}

func TestSqueezeKeepsBothEnds(t *testing.T) {
	require.Equal(t, "abc", units.Squeeze("abc", 3))
	require.Equal(t, "abcde…ij", units.Squeeze("abcdefghij", 8))
	for n := range 12 {
		require.LessOrEqual(t, units.Letters(units.Squeeze("äöüßäöüßäöüß", n)), max(n, 3))
	}
}
