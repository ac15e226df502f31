package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

// Every command has a page. Formatters accept it without a warning, and it is the same on every machine.
func TestManualPages(t *testing.T) {
	t.Parallel()
	p, elsewhere := newPlace(t), newPlace(t, "HOME=/nowhere", "COLUMNS=40", "USER=somebody", "TZ=Asia/Tokyo")
	p.ends(0, "man")
	out, _ := elsewhere.ends(0, "man", "pages/man1")
	require.Contains(t, out, "man -l pages/man1/doublegrant.1")
	pages, err := filepath.Glob(filepath.Join(p.dir, "man", "*.1"))
	require.NoError(t, err)
	for _, name := range append(cli.CommandNames(), "adapter check", "coordinate explore", "coordinate suite") {
		if name != "help" {
			page := "doublegrant-" + strings.ReplaceAll(name, " ", "-") + ".1"
			require.Contains(t, pages, filepath.Join(p.dir, "man", page))
		}
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		same, err := os.ReadFile(filepath.Join(elsewhere.dir, "pages/man1", filepath.Base(page)))
		require.NoError(t, err)
		require.Equal(t, string(text), string(same))
		for _, ours := range []string{os.Getenv("HOME") + "/", p.dir, root()} {
			require.NotContains(t, string(text), ours)
		}
	}
	for _, lint := range [][]string{{"groff", "-man", "-ww", "-z"}, {"mandoc", "-T", "lint", "-W", "error"}} {
		if _, err := exec.LookPath(lint[0]); err == nil {
			said, err := exec.Command(lint[0], append(lint[1:], pages...)...).CombinedOutput()
			require.NoError(t, err, string(said))
			require.Empty(t, string(said))
		}
	}
}

// A page has the texts of the help in its groups. No line of them is taken for a command to the formatter.
func TestAManualPageHasTheHelp(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ends(0, "man")
	text, err := os.ReadFile(filepath.Join(p.dir, "man/doublegrant-explore.1"))
	require.NoError(t, err)
	page := string(text)
	require.Contains(t, page, ".SS At random\n.TP\n.B \\-\\-random int\nrun this many schedules")
	require.Contains(t, page, ".B \\-o, \\-\\-output string\n")
	require.Contains(t, page, "(default 3)")
	require.NotContains(t, page, "(default 0)")
	require.Contains(t, page, ".SH SEE ALSO\n.BR doublegrant (1)\n")
}

func TestManualPagesThatCannotBeWritten(t *testing.T) {
	refused(t, map[string]string{"file": ""}, map[string]string{
		"manual pages cannot be written: mkdir ":               "man @/file",
		"manual pages cannot be written: mkdir /proc/x: no su": "man /proc/x",
		"2 folders given: name one":                            "man a b",
	})
}
