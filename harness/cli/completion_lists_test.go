package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A word that is offered twice looks like two things.
func TestCompletionsOfferEachWordOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	all := argumentCompletions()
	for flag, complete := range flagCompletions() {
		all["--"+flag] = complete
	}
	require.Greater(t, len(all), 25)
	for where, complete := range all {
		offered, _ := complete(nil, nil, "")
		seen := map[string]bool{}
		for _, c := range offered {
			word, _, _ := strings.Cut(c, "\t")
			require.False(t, seen[word], "%s offers %s twice", where, word)
			seen[word] = true
		}
	}
}
