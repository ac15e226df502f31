package cli_test

import (
	"encoding/json"
	"errors"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/reports/schemas"
)

// TestScripts runs the transcripts in testdata/script in parallel. README.md of this package describes their format.
func TestScripts(t *testing.T) {
	t.Parallel()
	scripts(t, "testdata/script")
}

// TestLongScripts runs the longer transcripts. Some need redis-py.
func TestLongScripts(t *testing.T) {
	testenv.NeedLong(t)
	pythonWithRedis(t)
	scripts(t, "testdata/long")
}

// TestScriptsOfClients runs the transcripts with adapters in Python.
func TestScriptsOfClients(t *testing.T) {
	t.Parallel()
	pythonWithRedis(t)
	scripts(t, "testdata/python")
}

const python = "/usr/bin/python3"

// pythonWithRedis skips a test where Python has no redis-py.
func pythonWithRedis(t *testing.T) {
	t.Helper()
	if exec.Command(python, "-c", "import redis").Run() != nil {
		testenv.LeftOut(t, "adapters in Python", "make adapters installs python3-redis")
	}
}

// passed lists the variables that scripts inherit from this process, in addition to testscript's own.
var passed = []string{"DOUBLEGRANT_REDIS_SERVER", "DOUBLEGRANT_CLOCK_LIBRARY", "CC", "HOME"}

// scripts runs the transcripts of a folder, each in its own folder and environment. doublegrant is this test binary
// there.
func scripts(t *testing.T, dir string) {
	t.Helper()
	bin := t.TempDir()
	require.NoError(t, os.Symlink(os.Args[0], filepath.Join(bin, "doublegrant")))
	word := wordOfTheReadme(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join(source, dir), RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			for _, name := range passed {
				e.Setenv(name, os.Getenv(name))
			}
			e.Setenv("PATH", bin+":"+e.Getenv("PATH"))
			e.Setenv(asCommand, "1")
			e.Setenv("PYTHON", python)
			e.Setenv("CLIENTS", clients)
			e.Setenv("WORD", word)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "refuses": refuses, "again": again, "verdict": verdict, "json": isJSON, "links": links,
			"says": says,
		},
	})
}

// exits CODE COMMAND...: the command exits with that code, or with one of several: 0|2.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if !slices.Contains(strings.Split(args[0], "|"), strconv.Itoa(code)) {
		ts.Fatalf("it exited with %d, not %s", code, args[0])
	}
}

// refuses TEXT COMMAND...: the command exits with the code of wrong usage. It prints one line, which has the text.
func refuses(ts *testscript.TestScript, neg bool, args []string) {
	exits(ts, neg, append([]string{"64"}, args[1:]...))
	stdout, stderr := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	if stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, args[0]) {
		ts.Fatalf("want one line with %q on standard error, and nothing else", args[0])
	}
}

// again CODE PATTERN FILE...: each command line that follows the pattern in the last output is in all of the files,
// too. Run by a shell, it exits with the code.
func again(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: again CODE PATTERN FILE...")
	}
	found := regexp.MustCompile("(?m)"+args[1]+" ?(doublegrant [^`\\n]*)").FindAllStringSubmatch(ts.ReadFile("stdout"),
		-1)
	if len(found) == 0 {
		ts.Fatalf("no command behind %q", args[1])
	}
	for _, f := range found {
		for _, name := range args[2:] {
			if !strings.Contains(asCopied(ts.ReadFile(name)), f[1]) {
				ts.Fatalf("%s has no %s", name, f[1])
			}
		}
		exits(ts, false, []string{args[0], "sh", "-c", f[1]})
	}
}

// asCopied returns the text of a file or page as it is copied from there, without the escapes of its format.
func asCopied(text string) string {
	return html.UnescapeString(strings.NewReplacer("<span>", "", "</span>", "").Replace(text))
}

// verdict FILE: the last output begins with the same line as the file.
func verdict(ts *testscript.TestScript, neg bool, args []string) {
	is, _, _ := strings.Cut(ts.ReadFile("stdout"), "\n")
	want, _, _ := strings.Cut(ts.ReadFile(args[0]), "\n")
	if neg || is != want {
		ts.Fatalf("the verdict is\n%s\nand was\n%s", is, want)
	}
}

// says PATTERN: the last output matches the regular expression, once line breaks are replaced by single spaces.
func says(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: says PATTERN")
	}
	if regexp.MustCompile(args[0]).MatchString(unbroken(ts.ReadFile("stdout"))) == neg {
		ts.Fatalf("does the output say %s? %v", args[0], neg)
	}
}

// unbroken returns text on one line.
func unbroken(text string) string { return strings.Join(strings.Fields(text), " ") }

// json FILE: the file is a JSON document that meets the schema of its kind.
func isJSON(ts *testscript.TestScript, neg bool, args []string) {
	text := []byte(ts.ReadFile(args[0]))
	var head reports.Head
	ts.Check(json.Unmarshal(text, &head))
	if neg {
		ts.Fatalf("usage: json FILE")
	}
	ts.Check(schemas.Check(string(head.Kind), text))
}

// links N FILE: the page links to at least N files, and all of them exist.
func links(ts *testscript.TestScript, neg bool, args []string) {
	page := ts.MkAbs(args[1])
	all := regexp.MustCompile(`href="([^"#]+)"`).FindAllStringSubmatch(ts.ReadFile(args[1]), -1)
	least, err := strconv.Atoi(args[0])
	ts.Check(err)
	if neg || len(all) < least {
		ts.Fatalf("%d links, not %d or more", len(all), least)
	}
	for _, l := range all {
		_, err := os.Stat(filepath.Join(filepath.Dir(page), l[1]))
		ts.Check(err)
	}
}

// wordOfTheReadme returns the recipe that the project's README shows.
func wordOfTheReadme(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(source, "../../README.md"))
	require.NoError(t, err)
	word := regexp.MustCompile(`dg1-\w[\w-]+`).FindString(string(readme))
	require.NotEmpty(t, word)
	return word
}
