package suggest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/suggest"
)

func TestNearestNamesComeFirst(t *testing.T) {
	names := []string{"clients", "calm", "crashes", "lock/set-nx-px", "lock/set-nx-px-wait", "list", "lost"}
	for word, want := range map[string][]string{
		"client":                   {"clients"},
		"crahses":                  {"crashes"},
		"lst":                      {"list", "lost"},
		"lock/set-nx-pxx":          {"lock/set-nx-px"},
		"set-nx-px":                {"lock/set-nx-px"},
		"clam":                     {"calm"},
		"lock/set":                 {"lock/set-nx-px", "lock/set-nx-px-wait"},
		"x":                        nil,
		"":                         nil,
		"colour":                   nil,
		strings.Repeat("list", 20): nil,
	} {
		require.Equal(t, want, suggest.Nearest(word, names), word)
	}
	require.Equal(t, "did you mean --list, or --lost?", suggest.Question("--", "lst", names))
	require.Empty(t, suggest.Question("", "colour", names))
	require.Equal(t, "did you mean list, or lost?", suggest.DidYouMean("lst", names))
	require.Equal(t, "choose one of a, b", suggest.DidYouMean("colour", []string{"a", "b"}))
}

func TestDistanceCountsEdits(t *testing.T) {
	require.Equal(t, 3, suggest.Distance("kitten", "sitting"))
	require.Equal(t, 4, suggest.Distance("", "four"))
	require.Equal(t, 0, suggest.Distance("same", "same"))
	require.Equal(t, 1, suggest.Distance("rnu", "run"), "neighbours are swapped")
}
