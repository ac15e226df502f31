package granttest_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// quick is a search with two clients and no faults.
var quick = granttest.LockOptions{
	Search: granttest.Search{Clients: 2, Crashes: -1, Expiries: -1, LostAnswers: -1}, Load: granttest.Load{Skip: true},
}

var searchAndLoad = granttest.LockOptions{TTL: 300 * time.Millisecond, Search: quick.Search,
	Load: granttest.Load{Clients: 5}}

// corpus lists the files in the folder dir of the corpus.
func corpus(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata/granttest", dir, "*.json"))
	require.NoError(t, err)
	return files
}

// set gives a flag a value for the length of the test.
func set(t *testing.T, name, value string) {
	t.Helper()
	old := flag.Lookup(name).Value.String()
	require.NoError(t, flag.Set(name, value))
	t.Cleanup(func() { require.NoError(t, flag.Set(name, old)) })
}

// Later runs replay a race that was found once, and fail by that alone. They pass silently once the race is fixed.
func TestAFoundRaceStaysARegressionTest(t *testing.T) {
	t.Chdir(t.TempDir())
	const name = "TestIt/with a/slash"
	// on any machine
	whole := granttest.LockOptions{Search: granttest.Search{Minimize: 5 * time.Minute},
		Load: granttest.Load{Skip: true}}
	first := record(t, name, lock(newBlindDel, whole)).failure(t)
	files := corpus(t, "TestIt/with_a/slash")
	require.Len(t, files, 2)
	for _, f := range files {
		require.Contains(t, first, "saved in "+f)
	}
	require.Contains(t, first, `go test -run '^TestIt$/^with a$/^slash$'`)

	again := record(t, name, lock(newBlindDel))
	require.Len(t, again.failures, 2)
	for i, f := range files {
		require.Contains(t, again.failures[i], "happens again, replayed from "+f)
		require.Contains(t, again.failures[i], "DEL lock")
	}
	require.Empty(t, again.logs, "neither search nor load was needed")

	mended := record(t, name, lock(newGoodLock, onlySearch))
	mended.passes(t)
	require.Contains(t, mended.logs[0], "passes")
	require.Equal(t, files, corpus(t, "TestIt/with_a/slash"))
}

// The name of a saved file depends only on what determines its replay. Files in users' repositories have these names.
func TestTheNameOfASavedSchedule(t *testing.T) {
	t.Chdir(t.TempDir())
	named := func(o granttest.LockOptions) string {
		record(t, "TestIt", lock(newGetSet, o)).failure(t)
		files := corpus(t, "TestIt")
		require.Len(t, files, 1)
		require.NoError(t, os.Remove(files[0]))
		return filepath.Base(files[0])
	}
	require.Equal(t, "double-grant-e6247ca1.json", named(quick))
	require.Equal(t, "double-grant-e6247ca1.json", named(quick), "of the same schedule")
	long := quick
	long.TTL = time.Minute
	require.NotEqual(t, named(quick), named(long), "of another lease")
}

// A saved file is replayed whatever its name is, since earlier versions chose other names.
func TestASavedScheduleOfAnyName(t *testing.T) {
	t.Chdir(t.TempDir())
	record(t, "TestIt", lock(newGetSet, quick)).failure(t)
	file := corpus(t, "TestIt")[0]
	other := filepath.Join(filepath.Dir(file), "double-grant-0badcafe.json")
	require.NoError(t, os.Rename(file, other))
	require.Contains(t, record(t, "TestIt", lock(newGetSet)).failure(t), "happens again, replayed from "+other)
}

// A fixed algorithm may send other commands. The replay follows the schedule as far as it can.
func TestASavedScheduleOfOtherCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	record(t, "TestIt", lock(newGetSet, quick)).failure(t)
	mended := record(t, "TestIt", lock(newGoodLock, quick))
	mended.passes(t)
	require.Contains(t, mended.logs[0], "it now sends other commands")
	worse := record(t, "TestIt", lock(newTwiceGetSet))
	require.Contains(t, worse.failure(t), "happens again")
}

// newTwiceGetSet sends one more command, so that no saved schedule of newGetSet fits.
var newTwiceGetSet = acquiring(func(ctx context.Context, l goodLock, key, owner string, ttl time.Duration) (bool,
	error) {
	if err := l.redis.Get(ctx, key).Err(); err != redis.Nil {
		return false, err
	}
	if err := l.redis.Exists(ctx, key+":other").Err(); err != nil {
		return false, err
	}
	return true, l.redis.Set(ctx, key, owner, ttl).Err()
})

// An unusable file fails the test once, with a remedy, and the search goes on.
func TestASavedScheduleOfAnotherVersion(t *testing.T) {
	t.Chdir(t.TempDir())
	record(t, "TestIt", lock(newGetSet, quick)).failure(t)
	file := corpus(t, "TestIt")[0]
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		text string
		test func(granttest.TB)
		want string
	}{
		"a choice that is not known": {strings.Replace(string(good), `"client 1"`, `"client one"`, 1),
			lock(newGoodLock, quick), `unknown choice "client one"`},
		"a format of tomorrow": {strings.Replace(string(good), `"format": 1`, `"format": 2, "more": 1`, 1),
			lock(newGoodLock, quick), "its format is 2"},
		"a field of tomorrow": {strings.Replace(string(good), `"format"`, `"more": 1, "format"`, 1),
			lock(newGoodLock, quick), `unknown field "more"`},
		"too many clients": {strings.Replace(string(good), `"clients": 2`, `"clients": 300`, 1),
			lock(newGoodLock, quick), "it has 300 clients"},
		"a regime of tomorrow": {strings.Replace(string(good), `"parameters": {`, `"parameters": {"regime": "odd",`, 1),
			lock(newGoodLock, quick), `unknown regime "odd"`},
		"cut short": {string(good[:len(good)/2]), lock(newGoodLock, quick), "unexpected EOF"},
		"empty":     {"", lock(newGoodLock, quick), "EOF"},
		"of another kind": {string(good), dedup(newGoodFilter,
			granttest.DedupOptions{Load: granttest.Load{Skip: true}}), "it is for a lock"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, name != "of another kind", c.text == string(good), "the text is changed")
			require.NoError(t, os.WriteFile(file, []byte(c.text), 0o644))
			got := record(t, "TestIt", c.test)
			failure := got.failure(t)
			require.Contains(t, failure, file+" cannot be replayed: ")
			require.Contains(t, failure, c.want)
			require.Contains(t, failure, "Delete it")
			require.Contains(t, got.logs[len(got.logs)-1], "no order of commands breaks it", "the search went on")
		})
	}
}

// The replay flag runs one file alone, named from the package's folder or from one above it.
func TestReplayOfOneFile(t *testing.T) {
	top := t.TempDir()
	pkg := filepath.Join(top, "a", "b")
	require.NoError(t, os.MkdirAll(pkg, 0o755))
	t.Chdir(pkg)
	record(t, "TestIt", lock(newGetSet, quick)).failure(t)
	file := corpus(t, "TestIt")[0]
	for _, path := range []string{file, filepath.Join("a/b", file), filepath.Join(pkg, file)} {
		set(t, "granttest.replay", path)
		require.Contains(t, record(t, "TestIt", lock(newGetSet)).failure(t), "double-grant in 4 steps")
		mended := record(t, "TestIt", lock(newGoodLock))
		mended.passes(t)
		require.Len(t, mended.logs, 1)
	}
	set(t, "granttest.replay", "nowhere.json")
	require.Contains(t, record(t, "TestIt", lock(newGoodLock)).failure(t),
		"there is no nowhere.json in the package's folder")
}

// A failure shows the counterexample even if no file can be written.
func TestACorpusThatCannotBeWritten(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("testdata", nil, 0o644))
	failure := record(t, "TestIt", lock(newGetSet, quick)).failure(t)
	require.Contains(t, failure, "double-grant in 4 steps")
	require.Contains(t, failure, "it cannot be saved: ")
}

// The artifacts flag keeps the reports of search and load, even if the test fails.
func TestArtifacts(t *testing.T) {
	t.Chdir(t.TempDir())
	set(t, "granttest.artifacts", "kept")
	set(t, "granttest.seed", "42")
	passed := record(t, "TestIt", lock(newGoodLock, searchAndLoad))
	passed.passes(t)
	require.Contains(t, strings.Join(passed.logs, "\n"), "(seed 42)")
	for _, part := range []string{"search", "load"} {
		for _, file := range []string{"report.html", "verdict.json", "junit.xml", "summary.md"} {
			require.FileExists(t, filepath.Join("kept/TestIt", part, file))
		}
		var document struct{ Verdict, Command string }
		text, err := os.ReadFile(filepath.Join("kept/TestIt", part, "verdict.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &document))
		require.Equal(t, "valid", document.Verdict)
		require.Contains(t, document.Command, "go test -run '^TestIt$' ")
	}
	record(t, "TestBad", lock(newGetSet, searchAndLoad)).failure(t)
	require.FileExists(t, "kept/TestBad/search/report.html")
	require.NoDirExists(t, "kept/TestBad/load", "there was none")

	takes := acquiring(func(ctx context.Context, l goodLock, key, owner string, ttl time.Duration) (bool, error) {
		return true, l.redis.Set(ctx, key, owner, ttl).Err() // whoever has it: a slow machine shows that, too
	})
	record(t, "TestLoad", lock(takes, onlyLoad)).failure(t)
	require.FileExists(t, "kept/TestLoad/load/report.html")
}

// With -short there is no load. A test that then has nothing to do is skipped.
func TestShort(t *testing.T) {
	t.Chdir(t.TempDir())
	set(t, "test.short", "true")
	short := record(t, "TestIt", lock(newGoodLock, searchAndLoad))
	short.passes(t)
	require.Len(t, short.logs, 1)
	nothing := record(t, "TestIt", lock(newGoodLock, onlyLoad))
	nothing.passes(t)
	require.True(t, nothing.skipped)
}

// A failure prints a recipe that repeats it without any file. The recipe is for this test only.
func TestAFailureCanBePassedOnAsOneWord(t *testing.T) {
	t.Chdir(t.TempDir())
	failure := record(t, "TestIt", lock(newGetSet, quick)).failure(t)
	found := regexp.MustCompile(`(?m)^replay it anywhere: go test -run '\^TestIt\$' \S+ -granttest\.replay (dg1-\S+)$`).FindStringSubmatch(failure)
	require.Len(t, found, 2, failure)
	t.Chdir(t.TempDir())
	set(t, "granttest.replay", found[1])
	again := record(t, "TestIt", lock(newGetSet))
	require.Contains(t, again.failure(t), "double-grant in 4 steps")
	require.Regexp(t, `(?m)^repeat it: go test -run '\^TestIt\$' \S+ -granttest\.replay `+found[1]+`$`,
		again.failure(t))
	require.Empty(t, again.logs, "neither search nor load ran")
	mended := record(t, "TestIt", lock(newGoodLock))
	mended.passes(t)
	require.Len(t, mended.logs, 1)
	require.Contains(t, mended.logs[0], "the word after -granttest.replay: passes")

	filter := dedup(newGoodFilter, granttest.DedupOptions{Load: granttest.Load{Skip: true}})
	require.Contains(t, record(t, "TestIt", filter).failure(t), "it is for a lock, and this test is for a dedup")
	require.Contains(t, record(t, "TestOther", lock(newGoodLock)).failure(t),
		"it is for the test TestIt, and this is TestOther: choose the former with -run")
	for word, want := range map[string]string{
		found[1][:40]: "its checksum is wrong",
		"dg7-AAAA":    "it has version dg7",
		interleave.Recipe{Program: "lock/x", Budget: interleave.Budget{Clients: 2},
			Schedule: []interleave.Choice{interleave.Run(0)}}.String(): "doublegrant explore --replay",
		interleave.Recipe{Program: "lock TestIt", Regime: "odd", Budget: interleave.Budget{Clients: 2},
			Schedule: []interleave.Choice{interleave.Run(0)}}.String(): "unknown regime",
	} {
		set(t, "granttest.replay", word)
		bad := record(t, "TestIt", lock(newGoodLock)).failure(t)
		require.Contains(t, bad, want)
		require.NotContains(t, bad, "\n")
	}
}
