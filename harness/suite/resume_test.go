package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/tally"
)

func fingerprintOf(t *testing.T, folder, text string) string {
	t.Helper()
	path := filepath.Join(folder, "mine.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	s, err := Read(path)
	require.NoError(t, err)
	print, err := s.Fingerprint()
	require.NoError(t, err)
	return print
}

func TestAFingerprintIsOfWhatIsRun(t *testing.T) {
	const text = "runs:\n  - {name: one, variant: sequence/incr}\n" +
		"  - {name: two, script: {as: lock, file: take.lua, args: ['{owner}']}, explore: {crashes: 0}, expect: valid}\n"
	here, there := t.TempDir(), t.TempDir()
	for _, dir := range []string{here, there} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "take.lua"), []byte("return 1"), 0o644))
	}
	of := fingerprintOf(t, here, text)
	require.Equal(t, of, fingerprintOf(t, there, "# the same elsewhere\n"+text))
	for _, change := range [][2]string{
		{"name: one", "name: uno"}, {"sequence/incr", "sequence/get-set"}, {"expect: valid", "expect: documented"},
		{"{crashes: 0}", "{}"},
		{"{name: one", "{times: 2, name: one"}, {"{name: one", "{duration: 3s, name: one"},
	} {
		require.NotEqual(t, of, fingerprintOf(t, here, strings.Replace(text, change[0], change[1], 1)), change)
	}
	require.NoError(t, os.WriteFile(filepath.Join(there, "take.lua"), []byte("return 2"), 0o644))
	require.NotEqual(t, of, fingerprintOf(t, there, text), "the script is another")
}

// readBack reads a record with these lines.
func readBack(t *testing.T, lines string) recorded {
	t.Helper()
	was, err := readRecord(strings.NewReader(lines), nil)
	require.NoError(t, err)
	return was
}

const (
	cutRun = `{"run":{"name":"two","pass":2,"ending":"not run","verdict":"unknown","process":{"at":9500000000}}}` + "\n"
	cutEnd = `{"end":{"at":9600000000,"ending":"not met","reason":"interrupted"}}` + "\n"
	goesOn = `{"resume":{"at":9600000000,"started":"2026-11-21T09:00:00Z"}}` + "\n"
)

func TestWhatIsLeftOfAnInterruptedSuite(t *testing.T) {
	was := readBack(t, recordedHead+recordedRuns+cutRun+cutEnd+`{"run":{"na`)
	require.EqualValues(t, len(recordedHead+recordedRuns+cutRun+cutEnd), was.wholeBytes)
	require.Equal(t, 2, was.out.Passes)
	require.Equal(t, [2]int{2, 1}, [2]int{was.out.Cases[0].Runs, was.out.Cases[1].Runs},
		"the run that was cut short is to be run")
	require.Equal(t, map[string]int{"one": 1}, was.inPass)
	require.Equal(t, keptCounts{"one/met": 2, "two/not met": 1}, was.kept)
	require.Equal(t, "interrupted", was.out.Ended)
	require.Equal(t, 9600*time.Millisecond, was.out.Elapsed)
	require.Empty(t, readBack(t, recordedHead+recordedRuns+recordedEnd).out.Ended)

	was = readBack(t, recordedHead+recordedRuns+cutRun+cutEnd+goesOn)
	require.Equal(t, 1, was.out.Resumed)
	require.Equal(t, cutShort, was.out.Ended, "until it ends, it may have been killed")
	require.Empty(t, was.out.Memory.Runs.All, "memory is that of one process")
	require.EqualValues(t, 12, was.out.Memory.Max)
	require.Equal(t, 9600*time.Millisecond+tally.WarmUp, was.out.Memory.WarmUp)
}

func TestOnlyTheSameSuiteAndVersionGoOn(t *testing.T) {
	head := recordHead{Name: "mine", For: time.Hour, Version: "v1", Fingerprint: "f"}
	interrupted := tally.Suite{Ended: cutShort}
	was := recorded{head: head, out: interrupted}
	require.NoError(t, was.checkFits("x", head))
	again := head
	again.For = 0
	require.NoError(t, was.checkFits("x", again), "the time is on record")
	for want, change := range map[string]func(was *recorded, now *recordHead){
		"an older doublegrant":        func(was *recorded, _ *recordHead) { was.head.Fingerprint = "" },
		`belongs to the suite "mine"`: func(_ *recorded, now *recordHead) { now.Name = "other" },
		"the runs, scripts or expectations of its suite " +
			"differ": func(_ *recorded, now *recordHead) { now.Fingerprint = "g" },
		"v1 began it, and this is": func(_ *recorded, now *recordHead) { now.Version = "v2" },
		"--for 1h0m0s":             func(_ *recorded, now *recordHead) { now.For = time.Minute },
		"with no --for":            func(was *recorded, _ *recordHead) { was.head.For = 0 },
		"begun on Redis 7.0.15, and this is Redis 7.2.4": func(was *recorded, now *recordHead) {
			was.head.Servers, now.Servers = map[string]string{"process": "Redis 7.0.15"},
				map[string]string{"process": "Redis 7.2.4"}
		},
		"with no --shard": func(_ *recorded, now *recordHead) {
			now.Shard = &recordShard{Shard: tally.Shard{Number: 1, Of: 2}}
		},
		"with --shard 2/3": func(was *recorded, _ *recordHead) {
			was.head.Shard = &recordShard{Shard: tally.Shard{Number: 2, Of: 3}}
		},
	} {
		was, now := recorded{head: head, out: interrupted}, head
		change(&was, &now)
		err := was.checkFits("x", now)
		require.ErrorIs(t, err, plan.ErrUsage)
		require.ErrorContains(t, err, "x cannot be resumed: ")
		require.ErrorContains(t, err, want)
	}
}
