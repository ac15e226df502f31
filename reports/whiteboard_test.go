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
`, Exploration{Clients: 3}.whiteboard(analysistest.DedupRace(), 120))
	require.Equal(t, `stuck-lock in 5 steps:
  1  client 1  SETNX lock 0-1  1
  2  client 1  crashes
  3  client 2  SETNX lock 1-1  0         -> lock is somebody else's
  4  time      10s pass
  5  harness   acquire lock    fail held -> nobody holds it, and nobody can have it
  nobody holds lock, and after every lease is over it is still refused
`, Exploration{Clients: 2}.whiteboard(analysistest.Stuck(), 120))
}

// searchText writes a search for a terminal of 80 columns.
func searchText(w io.Writer, e Exploration) error { return ExplorationText(w, e, Layout{}) }

// Lines keep to the width of the terminal, unless one word is wider, and no word is broken.
func TestWhiteboardKeepsToTheWidthOfATerminal(t *testing.T) {
	for _, width := range []int{20, 40, 80, 150} {
		board := Exploration{Clients: 4}.whiteboard(analysistest.LostGrant(), width)
		for row := range strings.Lines(board) {
			if row = strings.TrimRight(row, "\n"); units.Letters(row) > width {
				require.Len(t, strings.Fields(row), 1, "%d: %s", width, row)
			}
		}
		require.Contains(t, strings.Join(strings.Fields(board), " "),
			"EVALSHA {take the lock for ARGV[2] milliseconds unless so} lock:orders:2026-11-21 client-2-0000000000000017 10000")
	}
}

func TestStepsOfANarrowTerminal(t *testing.T) {
	require.Equal(t, `stuck-lock in 5 steps:
  1  client 1  SETNX lock 0-1  1
  2  client 1  crashes
  3  client 2  SETNX lock 1-1  0
                 -> lock is somebody
                 else's
  4  time      10s pass
  5  harness   acquire lock    fail held
                 -> nobody holds it, and
                 nobody can have it
  nobody holds lock, and after every
  lease is over it is still refused
`, Exploration{Clients: 2}.whiteboard(analysistest.Stuck(), 40))
	require.Contains(t, Exploration{Clients: 2}.whiteboard(analysistest.Stuck(), 20), `  3  client 2
    SETNX lock 1-1
      0
      -> lock is
      somebody
      else's
  4  time
`)
}

// The counterexample comes first, then one line on what was searched; statistics only if asked for.
func TestTheCounterexampleComesFirst(t *testing.T) {
	e := searches()["race"]
	brief := textOf(t, searchText, e)
	require.Regexp(t, `(?s)^INVALID  .*in 5 steps:.*\n\nsearched: .*; first found after .*search again: `, brief)
	require.NotContains(t, brief, "pruned")
	verbose := textOf(t, func(w io.Writer, e Exploration) error { return ExplorationText(w, e, Layout{Verbose: true}) }, e)
	require.Contains(t, verbose, "pruned, ")
}

func TestTerminalGetsNoControlCharacters(t *testing.T) {
	for name, e := range searches() {
		for _, r := range textOf(t, searchText, e) {
			require.False(t, r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)), "%s: %U", name, r)
		}
	}
	text := textOf(t, searchText, searches()["race"])
	require.True(t, strings.HasPrefix(text, "INVALID  2 counterexamples, the smallest of 5 steps"))
	require.Contains(t, text, "  replay: doublegrant explore --replay anomalies/duplicate-delivery.json\n")
	require.Contains(t, text, "\nsearch again: doublegrant explore dedup/get-set --clients 3\n")
}

func TestFailedWritesAreReported(t *testing.T) {
	reader, pipe := io.Pipe()
	require.NoError(t, reader.Close())
	require.ErrorIs(t, searchText(pipe, searches()["race"]), io.ErrClosedPipe)
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
