package suite

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/tally"
)

// shardMade is a made-up shard: a head, and its runs.
type shardMade struct {
	head recordHead
	runs []tally.Run
	end  *recordEnd // nil: it was killed
}

// madeShards returns three shards of a suite of two cases, the first of which is repeated three times. Each has ended
// as it should.
func madeShards() []*shardMade {
	began := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	whole := []recordWhole{{"one", 3}, {"two", 1}}
	var all []*shardMade
	for n, cases := range [][]recordCase{
		{{"one", "sequence/incr", "valid", []int{0, 2}}},
		{{"one", "sequence/incr", "valid", []int{1}}},
		{{"two", "lock/setnx", "invalid: stuck-lock", []int{0}}},
	} {
		s := &shardMade{end: &recordEnd{At: time.Duration(n+1) * time.Second, Ending: tally.Met}, head: recordHead{
			Name: "mine", Started: began.Add(time.Duration(-n) * time.Minute), Version: "v1", Fingerprint: "f",
			Folder:  "results/was",
			Servers: map[string]string{"process": "Redis 7.0.15"}, Cases: cases,
			Shard: &recordShard{tally.Shard{Number: n + 1, Of: 3}, whole},
		}}
		for _, c := range cases {
			for _, turn := range c.Turns {
				s.add(c.Name, 1, turn)
			}
		}
		all = append(all, s)
	}
	return all
}

// add adds a run that was as expected. Its seed tells the repetition and the pass.
func (s *shardMade) add(name string, pass, turn int) {
	s.runs = append(s.runs, tally.Run{
		Name: name, Pass: pass, Seed: uint64(10*pass + turn), Ending: tally.Met, Verdict: harness.Valid, Ops: 7,
		Link:    "run/report.html",
		Command: "doublegrant run --plan=results/was/run/plan.yaml",
		Process: tally.Sample{At: time.Second, RSS: int64(s.head.Shard.Number) << 20},
	})
}

// write writes the shard's folder into root, and returns its path.
func (s *shardMade) write(t *testing.T, root, name string) string {
	t.Helper()
	dir := filepath.Join(root, name)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "run"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run", "report.html"), []byte("a report of "+name), 0o644))
	lines := []recordLine{{Suite: &s.head}}
	for i := range s.runs {
		lines = append(lines, recordLine{Run: &s.runs[i]})
	}
	if s.end != nil {
		lines = append(lines, recordLine{End: s.end})
	}
	var text strings.Builder
	for _, l := range lines {
		b, err := json.Marshal(l)
		require.NoError(t, err)
		text.Write(append(b, '\n'))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, recordFile), []byte(text.String()), 0o644))
	return dir
}

// written writes the shards into a folder of their own, as a, b and so on.
func written(t *testing.T, shards []*shardMade) (root string) {
	t.Helper()
	root = t.TempDir()
	for i, s := range shards {
		s.write(t, root, string(rune('a'+i)))
	}
	return root
}

// merged writes the shards into a folder of their own, and merges them.
func merged(t *testing.T, shards []*shardMade) (out tally.Suite, dir string, err error) {
	t.Helper()
	return Merge(t.Context(), []string{written(t, shards)}, filepath.Join(t.TempDir(), "results"))
}

func TestShardsAreOneSuiteAgain(t *testing.T) {
	t.Parallel()
	shards := madeShards()
	out, dir, err := merged(t, []*shardMade{shards[2], shards[0], shards[1]})
	require.NoError(t, err)
	require.Equal(t, tally.Met, out.Ending())
	require.Equal(t, 3*time.Second, out.Elapsed, "that of the longest")
	require.Equal(t, shards[2].head.Started, out.Started, "that of the first to begin")
	require.EqualValues(t, 3<<20, out.Memory.Max)
	require.Equal(t, []string{"one", "two"}, []string{out.Cases[0].Name, out.Cases[1].Name})
	require.Equal(t, []int{3, 1}, []int{out.Cases[0].Runs, out.Cases[1].Runs})
	require.EqualValues(t, 12, out.Cases[0].Last.Seed, "its third repetition, which another shard ran")
	require.Equal(t, "shard-1/run/report.html", out.Cases[0].Last.Link)
	require.FileExists(t, filepath.Join(dir, out.Cases[0].Last.Link))
	require.Equal(t, "doublegrant run --plan="+dir+"/shard-1/run/plan.yaml", out.Cases[0].Last.Command,
		"to where it is now")
	require.Equal(t, []int{2, 1, 1}, []int{out.Shards[0].Runs, out.Shards[1].Runs, out.Shards[2].Runs})
	again, err := Report(dir)
	require.NoError(t, err)
	require.Equal(t, out, again)
}

// TestASoakInShardsHasTheOrderOfOneMachine checks the order of merged runs: by pass, by the suite's file, by
// repetition.
func TestASoakInShardsHasTheOrderOfOneMachine(t *testing.T) {
	t.Parallel()
	shards := madeShards()
	shards[0].add("one", 2, 0)
	shards[0].add("one", 2, 2)
	shards[1].add("one", 2, 1)
	shards[2].add("two", 2, 0)
	shards[2].add("two", 3, 0)
	for _, s := range shards {
		s.head.For = time.Hour
	}
	out, dir, err := merged(t, shards)
	require.NoError(t, err)
	require.Equal(t, 3, out.Passes)
	require.Equal(t, []int{6, 3}, []int{out.Cases[0].Runs, out.Cases[1].Runs})
	file, err := os.Open(filepath.Join(dir, recordFile))
	require.NoError(t, err)
	defer file.Close()
	var order []uint64
	_, err = readRecord(file, func(_ recorded, l recordLine) error {
		if l.Run != nil {
			order = append(order, l.Run.Seed)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []uint64{10, 11, 12, 10, 20, 21, 22, 20, 30}, order)
}

func TestAShardThatEndedEarlyMakesTheSuiteUnknown(t *testing.T) {
	t.Parallel()
	cut := tally.Run{Name: "one", Pass: 1, Ending: tally.NotRun}
	for want, change := range map[string]func(all []*shardMade){
		"shard 2/3: interrupted during the run": func(all []*shardMade) {
			all[1].runs, all[1].end = []tally.Run{cut},
				&recordEnd{Ending: tally.NotRun, Reason: "interrupted during the run"}
		},
		"shard 1/3: it was cut short or is still running": func(all []*shardMade) {
			all[0].runs, all[0].end = all[0].runs[:1], nil
		},
		"shard 3/3: it was cut short":             func(all []*shardMade) { all[2].end = nil },
		"shard 1/3: 1 of its runs have no record": func(all []*shardMade) { all[0].runs = all[0].runs[:1] },
		"shard 1/3: interrupted; shard 3/3: interrupted": func(all []*shardMade) {
			all[0].end, all[2].end = &recordEnd{Reason: "interrupted"}, &recordEnd{Reason: "interrupted"}
		},
	} {
		shards := madeShards()
		change(shards)
		out, _, err := merged(t, shards)
		require.NoError(t, err, want)
		require.Contains(t, out.Ended, want)
		require.Equal(t, tally.NotRun, out.Ending(), want)
	}
	shards := madeShards()
	shards[0].end = nil
	shards[2].runs[0].Ending = tally.NotMet
	out, _, err := merged(t, shards)
	require.NoError(t, err)
	require.Equal(t, tally.NotMet, out.Ending(), "what was found is found, whatever did not run")
}

func TestShardsThatDoNotBelongTogetherAreRefusedByName(t *testing.T) {
	t.Parallel()
	with := func(change func(b, c *recordHead)) func([]*shardMade) []*shardMade {
		return func(all []*shardMade) []*shardMade {
			change(&all[1].head, &all[2].head)
			return all
		}
	}
	for _, c := range []struct {
		want   string
		change func([]*shardMade) []*shardMade
	}{
		{"2 of 3 shards are missing, the first is shard 1, which",
			func(all []*shardMade) []*shardMade { return all[1:2] }},
		{`shard 2/3 in DIR/b belongs to the suite "other", and shard 1/3 in DIR/a to "mine"`,
			with(func(b, _ *recordHead) { b.Name = "other" })},
		{"shard 2/3 in DIR/b has a different suite (g) from shard 1/3 in DIR/a (f): run all shards with the same " +
			"file, scripts",
			with(func(b, _ *recordHead) { b.Fingerprint = "g" })},
		{"shard 2/4 in DIR/b is one of 4, and shard 1/3 in DIR/a one of 3",
			with(func(b, _ *recordHead) { b.Shard.Of = 4 })},
		{"shard 3/3 in DIR/c was run by v2, and shard 1/3 in DIR/a by v1: run all shards with one version",
			with(func(_, c *recordHead) { c.Version = "v2" })},
		{"shard 3/3 in DIR/c was run with --for 1h0m0s, and shard 1/3 in DIR/a with no --for",
			with(func(_, c *recordHead) { c.For = time.Hour })},
		{"shard 3/3 in DIR/c was run on Redis 7.2.4, and shard 1/3 in DIR/a on Redis 7.0.15",
			with(func(_, c *recordHead) { c.Servers = map[string]string{"process": "Redis 7.2.4"} })},
		{"shard 3/3 in DIR/c was run on image b, and shard 2/3 in DIR/b on image a", with(func(b, c *recordHead) {
			b.Servers, c.Servers = map[string]string{"docker": "image a"}, map[string]string{"docker": "image b"}
		})},
	} {
		root := written(t, c.change(madeShards()))
		results := filepath.Join(root, "results")
		_, _, err := Merge(t.Context(), []string{root}, results)
		require.ErrorIs(t, err, plan.ErrUsage, c.want)
		require.ErrorContains(t, err, strings.ReplaceAll(c.want, "DIR", root))
		require.NotContains(t, err.Error(), "\n")
		require.NoDirExists(t, results)
	}
}

// TestARecordThatWasChangedIsNotMerged covers changed records, since records come from other machines.
func TestARecordThatWasChangedIsNotMerged(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(all []*shardMade){
		"there is no shard 0/3": func(all []*shardMade) { all[0].head.Shard.Number = 0 },
		`"one" is not a run of the suite, or has fewer repetitions`: func(all []*shardMade) { all[0].head.Cases[0].Turns = []int{0, 3} },
		`"uno" is not a run of the suite`:                           func(all []*shardMade) { all[0].head.Cases[0].Name = "uno" },
		`pass 1 has more runs of "two" than this shard contains`: func(all []*shardMade) {
			all[2].add("two", 1, 0)
		},
		`line 2: the suite has no run "two"`:                           func(all []*shardMade) { all[0].runs[0].Name = "two" },
		`the report of "one" is not in this folder`:                    func(all []*shardMade) { all[0].runs[0].Link = "../../secret.html" },
		`the shards do not contain exactly the 3 repetitions of "one"`: func(all []*shardMade) { all[1].head.Cases[0].Turns = []int{2} },
		`the shards do not contain exactly the 3 repetitions of "one": a`: func(all []*shardMade) {
			all[1].head.Cases, all[1].runs = nil, nil
		},
	} {
		shards := madeShards()
		change(shards)
		_, _, err := merged(t, shards)
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, plan.ErrUsage, "no other command mends it")
	}
}

func TestShardsAreFoundWhereCIPutsThem(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	shards := madeShards()
	first := shards[0].write(t, root, "artifacts/job 1/a")
	shards[1].write(t, root, "artifacts/job 2/deeper/b")
	third := shards[2].write(t, root, "elsewhere/c")
	shards[0].write(t, root, "artifacts/job 1/latest") // CI has followed the link
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(first, "run", "leak")))
	whole := shards[0].head
	whole.Shard, whole.Cases = nil, []recordCase{{Name: "one"}}
	(&shardMade{head: whole}).write(t, root, "artifacts/whole")
	require.NoError(t, os.Symlink(filepath.Join(root, "elsewhere"), filepath.Join(root, "link")))

	out, dir, err := Merge(t.Context(), []string{filepath.Join(root, "artifacts"), third, filepath.Join(root, "link")},
		filepath.Join(root, "results"))
	require.NoError(t, err)
	require.Len(t, out.Shards, 3)
	require.NoFileExists(t, filepath.Join(dir, "shard-1/run/leak"), "links are not copied")
	report, err := os.ReadFile(filepath.Join(dir, "shard-2/run/report.html"))
	require.NoError(t, err)
	require.Contains(t, string(report), "deeper/b")
}

func TestAMergeThatIsInterruptedLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results := t.TempDir()
	_, _, err := Merge(ctx, []string{written(t, madeShards())}, results)
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(results)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestACommandThatNeedsQuotesStays(t *testing.T) {
	t.Parallel()
	const command = "doublegrant run '--plan=my results/x/plan.yaml'"
	require.Equal(t, command, withFolder(command, "my results", "there"))
	require.Equal(t, "doublegrant run --plan=a/x", withFolder("doublegrant run --plan=a/x", "a", "over there"))
	require.Equal(t, "doublegrant run --plan=b/x", withFolder("doublegrant run --plan=a/x", "a", "b"))
	require.Equal(t, "doublegrant run lock/setnx", withFolder("doublegrant run lock/setnx", "", "b"))
}
