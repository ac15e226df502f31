package cli

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// Doctor has one line for all libraries, with the command that installs them. Into the image nothing can be installed.
func TestMissingLibrariesAreOneLine(t *testing.T) {
	missing := []error{errors.New("lib/a: missing: on Debian, apt-get install python3-rq python3-redis"),
		errors.New("lib/b: missing: on Debian, apt-get install python3-redis")}
	require.Equal(t, "2 variants of other languages cannot run: apt-get install python3-redis python3-rq",
		librariesFinding(missing, false).text())
	require.NotContains(t, librariesFinding(missing, true).text(), "apt-get")
	require.Contains(t, librariesFinding(missing, true).text(), "use a doublegrant outside of it")
	require.Empty(t, librariesFinding(nil, false).Do)
}
