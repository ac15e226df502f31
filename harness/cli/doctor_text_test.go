package cli

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// Doctor has one line for all libraries, with the command that installs them. In the image nothing can be installed.
func TestMissingLibrariesAreOneLine(t *testing.T) {
	missing := []error{errors.New("lib/a: missing: on Debian, apt-get install python3-rq python3-redis"),
		errors.New("lib/b: missing: on Debian, apt-get install python3-redis")}
	require.Equal(t, "2 variants of other languages cannot run: apt-get install python3-redis python3-rq",
		librariesFinding(missing, false).text())
	require.NotContains(t, librariesFinding(missing, true).text(), "apt-get")
	require.Contains(t, librariesFinding(missing, true).text(), "use a doublegrant outside of it")
	require.Empty(t, librariesFinding(nil, false).Do)
}

// Doctor names the interpreters, since a lock in Python may be started by another one than has the library.
func TestDoctorNamesTheInterpretersItLookedAt(t *testing.T) {
	f := withInterpreters(librariesFinding(nil, false), []string{"/usr/bin/php", "/usr/bin/python3"},
		map[string]string{"/home/me/bin/python3": "/usr/bin/python3"})
	require.Equal(t, "warn", f.word())
	require.Equal(t, "/home/me/bin/python3, the first in the PATH, lacks a library: start your own adapters with "+
		"/usr/bin/python3; all that variants in other languages need is installed; looked at /usr/bin/php and "+
		"/usr/bin/python3", f.text(), "the warning comes first")
	f = withInterpreters(librariesFinding(nil, false), []string{"/usr/bin/python3"}, nil)
	require.Equal(t, "ok", f.word())
}
