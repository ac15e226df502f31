package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// painted colours text and writes colours as tags.
func painted(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	n, err := io.WriteString(painter{&b}, text)
	require.NoError(t, err)
	require.Equal(t, len(text), n)
	return strings.NewReplacer("\x1b[31;1m", "<RED>", "\x1b[32;1m", "<GREEN>", "\x1b[33;1m", "<YELLOW>",
		"\x1b[31m", "<red>", "\x1b[32m", "<green>", "\x1b[33m", "<yellow>", "\x1b[0;22m", "</>", "\x1b[0m",
		"</>").Replace(b.String())
}

func TestOnlyVerdictsAndMarksOfAnomaliesAreColoured(t *testing.T) {
	for text, want := range map[string]string{
		"INVALID  2 counterexamples\n":              "<RED>INVALID</>  2 counterexamples\n",
		"VALID  no violation in 5 operations\n":     "<GREEN>VALID</>  no violation in 5 operations\n",
		"UNKNOWN  Nothing can be said\n":            "<YELLOW>UNKNOWN</>  Nothing can be said\n",
		"lock/x  invalid  8 stolen-release  yes\n":  "lock/x  <red>invalid</>  8 stolen-release  yes\n",
		"  growing        valid    No interleaving": "  growing        <green>valid</>    No interleaving",
		"  gates     unknown   no acquire was ok\n": "  gates     <yellow>unknown</>   no acquire was ok\n",
		"stolen-release in 5 steps:\n":              "<red>stolen-release</> in 5 steps:\n",
		"  the first double-grant, certified by":    "  the first <red>double-grant</>, certified by",
	} {
		require.Equal(t, want, painted(t, text))
	}
	for _, text := range []string{
		"expected  valid: as its documentation says\n", "a lock is valid until it is not\n",
		"no-such-class in 5 steps:\n",
		"INVALIDATED it\n", "doublegrant: the verdict is unknown\n", "  1  client 1  SET lock valid\n",
	} {
		require.Equal(t, text, painted(t, text))
	}
}
