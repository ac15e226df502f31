package cli_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// skeletons lists what the commands of each skeleton need: the packages, and a probe that fails if they are missing.
var skeletons = []struct{ name, probe, packages string }{
	{"go", "go version", "golang"},
	{"python", "python3 -c 'import redis'", "python3-redis"},
	{"javascript", `node -e "require('redis')"`, "nodejs node-redis"},
	{"php", "php -r 'exit(extension_loaded(\"redis\") ? 0 : 1);'", "php-cli php-redis"},
	{"ruby", "ruby -e 'require \"redis\"'", "ruby ruby-redis"},
	{"java", "javac -version", "default-jdk-headless"},
	{"c", "cc -E -include hiredis/hiredis.h -x c /dev/null", "gcc libc6-dev libhiredis-dev"},
	{"lua", "true", ""},
	{"suite", "true", ""},
}

// Every skeleton passes by the commands that init prints, in an empty folder. If its release deletes the lock of any
// owner, the same commands find the violation.
func TestLongSkeletons(t *testing.T) {
	testenv.NeedLong(t)
	path := withProgram(t)
	for i, s := range skeletons {
		if !testenv.Sampled(i, 3) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			p := newPlace(t, "PATH="+path, "NODE_PATH=/usr/share/nodejs")
			if out, code := p.shell(s.probe); code != 0 {
				testenv.LeftOut(t, "the skeleton of "+s.name, "install "+s.packages+": "+out)
			}
			out, _ := p.ends(0, "init", s.name, "mine")
			_, lines, _ := strings.Cut(out, "\nTry it:\n")
			switch p.dir = filepath.Join(p.dir, "mine"); s.name {
			case "go":
				p.replacesModule()
			case "java":
				p.standsInForJedis()
			}
			lines = strings.Replace(lines, "cd mine", "set -e", 1)
			out, code := p.shell(lines)
			require.Zero(t, code, out)
			require.NotContains(t, out, "UNKNOWN")

			p.makeBlind()
			out, code = p.shell(strings.ReplaceAll(lines, "doublegrant explore", "doublegrant explore --first"))
			require.Equal(t, cli.ExitInvalid, code, out)
			require.Regexp(t, "stolen-release|double-grant", out)
		})
	}
}

// replacesModule makes the module there use this checkout, since no version of it may be published.
func (p place) replacesModule() {
	p.Helper()
	_, code := p.shell("go mod edit -replace github.com/doublegrant/doublegrant=" + root())
	require.Zero(p, code)
	if out, code := p.shell("go mod tidy"); code != 0 {
		testenv.LeftOut(p.T, "the skeleton of a Go module", "reach the proxy of Go's modules: "+out)
	}
}

// standsInForJedis puts a library into the folder lib, where Maven would copy Jedis, which Debian lacks.
func (p place) standsInForJedis() {
	p.Helper()
	out, code := p.shell("mkdir lib classes; javac -d classes $(find " + filepath.Dir(clients) +
		"/testdata/jedis -name '*.java') && jar cf lib/jedis.jar -C classes .")
	require.Zero(p, code, out)
}

// makeBlind changes the comparison with the owner in each script there, so that it succeeds for every owner.
func (p place) makeBlind() {
	p.Helper()
	const right, blind = "== ARGV[1]", "~= ARGV[2]"
	changed := 0
	require.NoError(p, fs.WalkDir(os.DirFS(p.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(name, "results") {
			return err
		}
		path := filepath.Join(p.dir, name)
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), right) {
			changed++
			return os.WriteFile(path, []byte(strings.ReplaceAll(string(text), right, blind)), 0o644)
		}
		return err
	}))
	require.Positive(p, changed)
}

// A full disk is not wrong usage. What was written by then is removed.
func TestInitOnAFullDiskLeavesNothing(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=8k"); err != nil {
		testenv.LeftOut(t, "a skeleton on a full disk", "run it as root: mounting a small disk: "+err.Error())
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	require.NoError(t, os.WriteFile(filepath.Join(disk, "mine"), make([]byte, 4096), 0o644))
	_, errs := ends(t, cli.ExitFailed, "init", "suite", filepath.Join(disk, "new/mine"))
	require.Contains(t, errs, "no space left on device")
	require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	left, err := os.ReadDir(disk)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// Every skeleton is written for a caller who reads JSON, too.
func TestInitAsJSON(t *testing.T) {
	for _, s := range skeletons {
		out, _ := ends(t, 0, "init", s.name, t.TempDir(), "-o", "json")
		var is struct {
			Files, Commands []string
			Change          string
		}
		require.NoError(t, json.Unmarshal([]byte(out), &is))
		require.NotEmpty(t, is.Files)
		require.NotEmpty(t, is.Commands)
		require.NotEmpty(t, is.Change)
	}
}
