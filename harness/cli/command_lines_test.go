package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommandLinesAreSplitAsAShellDoes(t *testing.T) {
	for line, want := range map[string][]string{
		"python3 mylock.py":          {"python3", "mylock.py"},
		"  a\tb  ":                   {"a", "b"},
		`a 'b c' "d e" f\ g ''`:      {"a", "b c", "d e", "f g", ""},
		`a"b c"'d'`:                  {"ab cd"},
		`"a \"quoted\" word" '\n'`:   {`a "quoted" word`, `\n`},
		`php -d "x=1;y" --opt='q w'`: {"php", "-d", "x=1;y", "--opt=q w"},
	} {
		got, err := splitWords(line)
		require.NoError(t, err, line)
		require.Equal(t, want, got)
	}
	for _, line := range []string{"", "  ", `a "b`, `a\`} {
		_, err := splitWords(line)
		require.Error(t, err, line)
	}
}

func TestTheCommandThatGoesOnHasWhatChoseTheRuns(t *testing.T) {
	f := suiteFlags{only: "a b", shard: "3/8"}
	require.Equal(t, "doublegrant suite x.yaml '--only=a b' --shard=3/8 --resume=results/y",
		resumeCommand([]string{"x.yaml"}, f, "results/y"))
}
