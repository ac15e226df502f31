package cli_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// TestReadmes takes every block of code out of every README and tries it as printed, in an empty folder for each
// section. What is printed beside a command is compared in shape: numbers may differ, words may not. The table trials
// says which blocks take long, need files or cannot run here.
func TestReadmes(t *testing.T) {
	t.Parallel()
	tryReadmes(t, false)
}

// TestLongReadmes tries the sections of READMEs in which a block takes long.
func TestLongReadmes(t *testing.T) {
	testenv.NeedLong(t)
	pythonWithRedis(t)
	tryReadmes(t, true)
}

func tryReadmes(t *testing.T, long bool) {
	path := withProgram(t)
	for _, name := range readmeFiles(t) {
		text, err := os.ReadFile(filepath.Join(root(), name))
		require.NoError(t, err)
		sections := splitReadme(string(text), trials[name])
		requireUsed(t, name, sections)
		for _, s := range sections {
			if !long || slices.ContainsFunc(s.blocks, func(b block) bool { return b.long }) {
				t.Run(name+"#"+s.title, func(t *testing.T) {
					t.Parallel()
					s.try(t, path, long)
				})
			}
		}
	}
}

// requireUsed fails if trials has a key that no block begins with.
func requireUsed(t *testing.T, readme string, sections []section) {
	t.Helper()
	used := map[string]bool{}
	for _, s := range sections {
		for _, b := range s.blocks {
			used[b.key] = true
		}
	}
	for key := range trials[readme] {
		require.True(t, used[key], "%s has no block that begins with %q: take it out of the table", readme, key)
	}
}

func root() string { return filepath.Join(source, "../..") }

// readmeFiles lists the READMEs, from the root of the repository, and the pages that are like them.
func readmeFiles(t *testing.T) (all []string) {
	t.Helper()
	for dir := "."; strings.Count(dir, "/") < 6; dir += "/*" {
		for _, pattern := range []string{"/README.md", "/.[cg]*/README.md", "/CORPUS.md", "/.github/CONTRIBUTING.md"} {
			found, err := filepath.Glob(filepath.Join(root(), dir+pattern))
			require.NoError(t, err)
			for _, f := range found {
				f, err = filepath.Rel(root(), f)
				require.NoError(t, err)
				all = append(all, f)
			}
		}
	}
	require.Greater(t, len(all), 25)
	for name := range trials {
		require.Contains(t, all, name)
	}
	return all
}

// withProgram returns a PATH in which doublegrant is this test binary, and python3 is one that has redis-py.
func withProgram(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	require.NoError(t, os.Symlink(os.Args[0], filepath.Join(bin, "doublegrant")))
	require.NoError(t, os.Symlink(python, filepath.Join(bin, "python3")))
	return bin + ":" + os.Getenv("PATH")
}

// try tries the blocks of a section in an empty folder.
func (s section) try(t *testing.T, path string, long bool) {
	p := newShortPlace(t, "PATH="+path, "ROOT="+root(), "GIVEN="+filepath.Join(source, "testdata/readme"))
	for _, b := range s.blocks {
		t.Run(b.name(), func(t *testing.T) {
			p.T = t
			switch {
			case b.cannot != "":
				b.requireNames(t)
				t.Skipf("only the names in it are checked: %s", b.cannot)
			case b.long && !long:
				b.requireNames(t)
				t.Skip("TestLongReadmes runs it")
			case b.by != nil:
				out, code := p.shell(b.before)
				require.Zero(t, code, out)
				b.by(p, b)
			default:
				b.run(p)
			}
		})
	}
}

// run runs a command line in a shell, and compares its output with what is printed below it.
func (b block) run(p place) {
	p.Helper()
	require.Empty(p, b.lang, "say in trials how a block of %s is tried", b.lang)
	line := strings.NewReplacer(b.instead...).Replace(b.text)
	for i := 0; i < len(b.instead); i += 2 {
		require.Contains(p, b.text, b.instead[i])
	}
	began := time.Now()
	out, code := p.shell(b.before + "\n" + line)
	want := strings.Split(cmp.Or(b.exits, "0"), "|")
	require.Contains(p, want, strconv.Itoa(code), "%s\n%s", line, out)
	if b.output != "" {
		require.Empty(p, misfit(b.output, out), "the README prints this line; the command prints\n%s", out)
	}
	p.Logf("exit code %d after %v, as printed: %v", code, time.Since(began).Round(10*time.Millisecond),
		b.output != "")
}

// shell runs lines there, and returns what they print and the last one's exit code.
func (p place) shell(lines string) (out string, code int) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), 5*hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", lines)
	cmd.Dir, cmd.Env = p.dir, p.env
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(p, err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// Patterns of what a shell line names of this project: the arguments of doublegrant, also in a container, a target of
// make, and the tests of a package.
var (
	ofDoublegrant = regexp.MustCompile(`(?m)(?:^|[;&(] *)doublegrant ([^;&|)#\n]+)|` +
		`docker run [^;&|\n]*? doublegrant/harness:local ([^;&|#\n]+)`)
	ofMake   = regexp.MustCompile(`(?m)(?:^|[;&(] *)make (\S+)`)
	ofGoTest = regexp.MustCompile(`go test (\S+) .*-run '?(\w+)`)
)

// requireNames fails if b names a command or flag of doublegrant, a target of make, or a test that does not exist.
func (b block) requireNames(t *testing.T) {
	t.Helper()
	for _, m := range ofDoublegrant.FindAllStringSubmatch(b.text, -1) {
		if words := strings.Fields(m[1] + m[2]); len(words) > 0 {
			cli.NameOfCommand(t, b.text, words)
		}
	}
	for _, m := range ofMake.FindAllStringSubmatch(b.text, -1) {
		requireTarget(t, m[1])
	}
	for _, m := range ofGoTest.FindAllStringSubmatch(b.text, -1) {
		files, err := filepath.Glob(filepath.Join(root(), m[1], "*_test.go"))
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(files, func(f string) bool {
			text, _ := os.ReadFile(f)
			return regexp.MustCompile(`(?m)^func Test\w*` + m[2]).Match(text)
		}), "no test of %s has %s in its name", m[1], m[2])
	}
}

// requireTarget fails if the Makefile has no such target.
func requireTarget(t *testing.T, target string) {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root(), "Makefile"))
	require.NoError(t, err)
	require.True(t, regexp.MustCompile(`(?m)(^|^\w+ +:= )`+regexp.QuoteMeta(target)+`(:|$)`).Match(makefile),
		"the Makefile has no %s", target)
}

// TestCommandsInTheTextOfReadmesExist checks the commands of doublegrant and make that stand in sentences.
func TestCommandsInTheTextOfReadmesExist(t *testing.T) {
	commands := regexp.MustCompile("`(make|doublegrant|" + strings.Join(cli.CommandNames(), "|") + ") ([^`]+)`")
	seen := 0
	for _, name := range append(readmeFiles(t), ".github/CHANGELOG.md") {
		text, err := os.ReadFile(filepath.Join(root(), name))
		require.NoError(t, err)
		for _, m := range commands.FindAllStringSubmatch(string(text), -1) {
			seen++
			if m[1] == "make" {
				requireTarget(t, strings.Fields(m[2])[0])
			} else {
				cli.RequireNamed(t, name, strings.TrimPrefix(m[1]+" "+m[2], "doublegrant "))
			}
		}
	}
	require.Greater(t, seen, 30)
}
