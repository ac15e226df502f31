package bugs

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/semver"

	"github.com/doublegrant/doublegrant/harness"
)

func TestEveryEntrySaysWhatAReaderNeeds(t *testing.T) {
	t.Parallel()
	all, err := All()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, b := range all {
		for name, text := range map[string]string{"library": b.Library, "language": b.Language, "package": b.Package,
			"shown.version": b.Shown.Version, "conditions": b.Conditions, "happens": b.Happens, "where": b.Where,
			"promise": b.Promise} {
			require.NotEmpty(t, text, "%s: %s", b.ID, name)
		}
		require.NotEmpty(t, b.Run, b.ID)
		require.NotEmpty(t, b.Class.Doc().Meaning, "%s: class %s", b.ID, b.Class)
		for _, c := range b.Also {
			require.NotEmpty(t, c.Doc().Meaning, "%s: class %s", b.ID, c)
		}
		if b.Own() {
			require.NotEmpty(t, b.Upstream.Searched, "%s: where an issue was looked for", b.ID)
			require.NotEmpty(t, b.Suggestion, "%s: what the maintainers could do", b.ID)
		}
		require.True(t, b.Affects(b.Shown.Version), "%s: the version that shows it has it", b.ID)
		if b.FixedOn != "" {
			require.NotEmpty(t, b.Fixed, b.ID)
			_, err := time.Parse(time.DateOnly, b.FixedOn)
			require.NoError(t, err, "%s: when it was fixed", b.ID)
		}
		if b.Holds != nil {
			require.False(t, b.Affects(b.Holds.Version), "%s: the version that holds does not", b.ID)
		}
		name, _, err := b.Example()
		require.NoError(t, err)
		require.NotEmpty(t, name, "%s: main.* or example.*", b.ID)
	}
}

func TestFindSuggestsWhatWasMeant(t *testing.T) {
	t.Parallel()
	b, err := Find("redislock-token")
	require.NoError(t, err)
	require.Equal(t, "bug/redislock-token", b.Name())
	_, err = Find("redislock-tokens")
	require.ErrorContains(t, err, "did you mean bug/redislock-token?")
	require.Equal(t, harness.DoubleGrant, b.Class)
}

func TestVersionsOfAnEntry(t *testing.T) {
	t.Parallel()
	b := Bug{Since: "4.10", Fixed: "v4.12.1"}
	for version, affected := range map[string]bool{"v4.10.0": true, "4.9.9": false, "4.12.0": true, "v4.12.1": false,
		"5": false, "v4.12.1-rc1": true, "": true, "main": true} {
		require.Equal(t, affected, b.Affects(version), version)
	}
	require.True(t, Bug{}.Affects("0.0.1"))
	require.True(t, semver.IsValid(canonical("1.2")))
}

func TestWhatIsUsed(t *testing.T) {
	t.Parallel()
	b := Bug{ID: "redis-py-4279", Library: "redis-py", Language: "Python", Package: "Redis_Py", Since: "4.0.0", Fixed: "5.0.0"}
	for name, c := range map[string]struct {
		use     Use
		version string
		used    bool
	}{
		"everything":          {Use{}, "", true},
		"by a part":           {Use{name: "redis-P"}, "", true},
		"another library":     {Use{name: "redsync"}, "", false},
		"with a version":      {Use{name: "redis.py", versions: map[string]string{"redis.py": "4.1"}}, "4.1", true},
		"a file":              {Use{versions: map[string]string{"redis-py": "4.2"}}, "4.2", true},
		"its language's file": {Use{language: "Python", versions: map[string]string{"redis-py": "4.2"}}, "4.2", true},
		"another's file":      {Use{language: "Ruby", versions: map[string]string{"redis-py": "4.2"}}, "", false},
		"a file without it":   {Use{versions: map[string]string{"redis": "4.2"}}, "", false},
		"a file without pins": {Use{versions: map[string]string{}}, "", false},
	} {
		version, used := c.use.versionOf(b)
		require.Equal(t, c.used, used, name)
		require.Equal(t, c.version, version, name)
	}
}

func TestLockFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		read  func([]byte) (map[string]string, error)
		text  string
		wants map[string]string // nil: an error
	}{
		"go.mod": {readGoMod, "module m\nrequire (\n\ta.b/c v1.2.3\n\td.e/f v0.1.0 // indirect\n)\nreplace d.e/f => x.y/z v0.2.0\n",
			map[string]string{"a.b/c": "v1.2.3", "x.y/z": "v0.2.0"}},
		"go.mod that is none": {readGoMod, "{", nil},
		"requirements": {readRequirements,
			"# ours\n-r base.txt\nredis[hiredis]==4.3.4 ; python_version > '3.7'\nrq >= 1.0\nhuey\n\n",
			map[string]string{"redis": "4.3.4", "rq": "", "huey": ""}},
		"requirements that are none": {readRequirements, "{\"a\": 1}", nil},
		"lock of npm": {readPackageLock, `{"packages": {"": {"version": "1.0.0"}, "node_modules/a": {"version": "2.0.0"},
			"node_modules/a/node_modules/@b/c": {"version": "3.0.0"}}}`,
			map[string]string{"a": "2.0.0", "@b/c": "3.0.0"}},
		"lock of npm, version 1":   {readPackageLock, `{"dependencies": {"a": {"version": "2.0.0"}}}`, map[string]string{"a": "2.0.0"}},
		"lock of npm that is none": {readPackageLock, "module m", nil},
		"lock of Composer": {readComposerLock, `{"packages": [{"name": "a/b", "version": "v8.83.26"}],
			"packages-dev": [{"name": "c/d", "version": "dev-main"}]}`, map[string]string{"a/b": "v8.83.26", "c/d": "dev-main"}},
		"lock of Composer without packages": {readComposerLock, `{"packages": []}`, map[string]string{}},
		"lock of Composer that is none":     {readComposerLock, `{"a": 1}`, nil},
		"lock of Bundler": {readGemfileLock, "GEM\n  remote: x\n  specs:\n    moneta (1.5.2)\n    redis (4.8.0)\n" +
			"      connection_pool (>= 2)\n    nokogiri (1.13.10-x86_64-linux)\n\nDEPENDENCIES\n  redis\n",
			map[string]string{"moneta": "1.5.2", "redis": "4.8.0", "nokogiri": "1.13.10"}},
		"lock of Bundler that is none": {readGemfileLock, "{}", nil},
	} {
		got, err := c.read([]byte(c.text))
		if c.wants == nil {
			require.Error(t, err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.wants, got, name)
	}
}

func TestAFileThatIsNoneIsNamed(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"/nowhere/go.mod": "no such file", "bug.go": "none of the files that are read", "README.md": "Gemfile.lock",
		"package.json": "there is no file package.json", "nowhere/go.sum": "there is no file",
	} {
		_, err := ParseUse(arg)
		require.ErrorContains(t, err, want)
		require.NotContains(t, strings.TrimSpace(err.Error()), "\n")
	}
}

func TestEntriesAboutAVariantOfTheCatalogue(t *testing.T) {
	t.Parallel()
	names, err := About("lib/redislock-retries")
	require.NoError(t, err)
	require.Equal(t, []string{"bug/redislock-token"}, names)
	names, err = About("lock/set-nx-px")
	require.NoError(t, err)
	require.Empty(t, names)
}
