package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Source is the folder of this package's source. TestMain sets it before it changes to an empty folder.
var Source string

// SplitWords splits a command line as a shell does.
var SplitWords = splitWords

// NameOfCommand returns the name of a command line's command, and checks that the command and its flags exist.
var NameOfCommand = nameOfCommand

// CommandNames lists the commands of doublegrant.
func CommandNames() (all []string) {
	for _, c := range (&app{}).root().Commands() {
		all = append(all, c.Name())
	}
	return all
}

// RequireNamed fails if the command of a line in a text, or one of its flags, does not exist. Values of flags may be
// missing, or words such as FILE.
func RequireNamed(t *testing.T, where, line string) {
	t.Helper()
	root := (&app{}).root()
	cmd, _, err := root.Find(strings.Fields(line))
	require.NoError(t, err, "%s: %s", where, line)
	require.NotSame(t, root, cmd, "%s: %s", where, line)
	for word := range strings.FieldsSeq(line) {
		if flag, is := strings.CutPrefix(word, "--"); is && flag != "" {
			flag, _, _ = strings.Cut(flag, "=")
			require.NotNil(t, cmd.Flag(strings.TrimRight(flag, ",.")), "%s: %s", where, line)
		}
	}
}
