package cli_test

import (
	"errors"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

// asInAShell runs a command line as it was printed, with doublegrant in the PATH, and returns its exit code.
func asInAShell(t *testing.T, line string) int {
	t.Helper()
	bin := t.TempDir()
	self := "#!/bin/sh\n" + asCommand + "=1 exec '" + os.Args[0] + "' \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "doublegrant"), []byte(self), 0o755))
	cmd := exec.Command("sh", "-c", line)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	t.Logf("$ %s\n%s", line, out)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	require.NoError(t, err)
	return 0
}

// printed lists the command lines that a text has after each of the patterns.
func printed(t *testing.T, text string, before ...string) (lines []string) {
	t.Helper()
	for _, b := range before {
		found := regexp.MustCompile(`(?m)`+b+"`{0,2} ?(doublegrant [^\n`<]*)").FindAllStringSubmatch(text, -1)
		require.NotEmpty(t, found, "no command behind %q in\n%s", b, text)
		for _, f := range found {
			if !slices.Contains(lines, f[1]) {
				lines = append(lines, f[1])
			}
		}
	}
	return lines
}

// file returns the text of a file, without the escapes of its format.
func file(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return html.UnescapeString(strings.NewReplacer("<span>", "", "</span>", "").Replace(string(b))) // as it is copied from a page
}

const (
	take = `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 else return 0 end`
	give = `return redis.call('del', KEYS[1])`
)

// TestASearchIsRepeatedAsPrinted: of scripts in another folder, whose names a shell would take for something else.
func TestASearchIsRepeatedAsPrinted(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("my scripts", 0o755))
	require.NoError(t, os.WriteFile("my scripts/take $1.lua", []byte(take), 0o644))
	require.NoError(t, os.WriteFile("my scripts/it's give.lua", []byte(give), 0o644))
	out, errs, code := run(t, append([]string{"explore", "--script", "my scripts/take $1.lua", "--as", "lock", "--release", "my scripts/it's give.lua",
		"--args", "{owner}", "--args", "{ttl_ms}", "--for", "1m", "--results", "my results", "--expiries", "1"}, calm[:4]...)...)
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "EVALSHA it's give.lua")
	latest, err := filepath.EvalSymlinks("my results/latest")
	require.NoError(t, err)
	lines := printed(t, out, "^search again: ", "^  replay: ", "^  replay anywhere: ")
	for _, line := range lines {
		require.Equal(t, cli.ExitInvalid, asInAShell(t, line))
	}
	for name, before := range map[string][]string{
		"summary.md": {"Replay it: ", "Search again: "}, "report.html": {"<figcaption>Search again</figcaption><pre>", `<pre class="replay">`},
		"junit.xml": {"run it again: "},
	} {
		require.Subset(t, lines, printed(t, file(t, filepath.Join(latest, name)), before...), name)
	}
}

// TestARunIsRepeatedAsPrinted: of a script with a name that pages and shells would take for something else.
func TestARunIsRepeatedAsPrinted(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	const name = "<img src=x>|.lua"
	require.NoError(t, os.WriteFile(name, []byte(`return 7`), 0o644))
	_, errs, code := run(t, "run", "--script", name, "--as", "sequence", "--duration", "1s", "--clients", "10", "--rate", "1000", "--pacing", "closed")
	require.Equal(t, cli.ExitInvalid, code, errs)
	dir, err := os.Readlink("results/latest")
	require.NoError(t, err)
	require.Regexp(t, `^[0-9]{8}-[0-9]{6}-script--img-src-x--$`, dir)
	page, err := os.ReadFile("results/latest/summary.md")
	require.NoError(t, err)
	require.NotRegexp(t, "(?m)^[^`]*<img", string(page), "outside code")
	found := regexp.MustCompile("(?m)^Run it again: `(doublegrant .*)`$").FindStringSubmatch(string(page))
	require.NotEmpty(t, found, string(page))
	require.Equal(t, cli.ExitInvalid, asInAShell(t, found[1]))
	require.Contains(t, file(t, filepath.Join("results", dir, "report.html")), found[1])
	require.Contains(t, file(t, filepath.Join("results", dir, "junit.xml")), found[1])
}

// TestARunOfASuiteIsRepeatedAsPrinted: of a script that stands in the suite itself, and of a variant.
func TestARunOfASuiteIsRepeatedAsPrinted(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("mine.yaml", []byte(`
defaults: {duration: 1s, clients: 10, rate: 1000, pacing: closed}
runs:
  - name: in the suite
    script: {as: sequence, name: seven, source: return 7}
    expect: valid
  - name: of the catalogue
    variant: sequence/string-compare-hash
    regime: growing
    expect: valid
`), 0o644))
	out, errs, code := run(t, "suite", "mine.yaml")
	require.Equal(t, cli.ExitInvalid, code, errs)
	lines := printed(t, out, "^  again   ")
	require.Len(t, lines, 2)
	require.Regexp(t, `^doublegrant run --plan=results/[^ ]+/plan.yaml$`, lines[0])
	latest := "results/latest"
	texts := map[string]string{}
	for _, name := range []string{"index.html", "junit.xml", "summary.md"} {
		texts[name] = file(t, filepath.Join(latest, name))
	}
	for _, line := range lines {
		for name, text := range texts {
			require.Contains(t, text, line, name)
		}
		require.Equal(t, cli.ExitInvalid, asInAShell(t, line))
	}
}
