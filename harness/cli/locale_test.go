package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALocaleWithoutUTF8GetsASCII(t *testing.T) {
	for want, all := range map[bool][]map[string]string{
		true:  {{"LANG": "de_DE.UTF-8"}, {"LANG": "C", "LC_ALL": "C.utf8"}, {"LC_CTYPE": "en_US.UTF-8", "LANG": "C"}},
		false: {{"LANG": "C"}, {}, {"LANG": "en_US.UTF-8", "LC_ALL": "POSIX"}, {"LANG": "de_DE.ISO-8859-1"}},
	} {
		for _, env := range all {
			require.Equal(t, want, unicodeLocale(func(name string) string { return env[name] }), "%v", env)
		}
	}
	for _, c := range []struct {
		terminal, want bool
		env            map[string]string
	}{
		{true, true, map[string]string{}},
		{false, false, map[string]string{}},
		{true, true, map[string]string{"LC_ALL": "C"}},
		{false, true, map[string]string{"LC_ALL": "C"}},
		{false, true, map[string]string{"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}},
		{false, false, map[string]string{"LANG": "C.UTF-8"}},
	} {
		require.Equal(t, c.want, wantsASCII(c.terminal, func(name string) string { return c.env[name] }), "%v", c)
	}
	var b strings.Builder
	n, err := asciiWriter{&b}.Write([]byte("from 1.001µs until 5µs – GET ключ…\n"))
	require.NoError(t, err)
	require.Equal(t, len("from 1.001µs until 5µs – GET ключ…\n"), n)
	require.Equal(t, "from 1.001us until 5us - GET ключ...\n", b.String(), "a user's own key stays")
}
