package suite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/suite/tally"
)

const everyKindOfRun = `name: all kinds
about: of runs
defaults: {clients: 7, duration: 3s}
runs:
  - {variant: sequence/incr, times: 3, seed: 9, rate: -1}
  - {name: two, script: {as: lock, file: take.lua, args: ['{owner}']}, explore: {crashes: 0, lostAnswers: 1, for: 1m}, expect: valid}
  - {variant: lock/set-nx-px, nemesis: kill-primary, expect: {invalid: [double-grant], may: [lost-write]}}
  - {name: theirs, client: {command: [python3, lock.py]}, ttl: 300ms, clients: 3}
  - {variant: lock/set-nx-px, name: faults, faults: [{fault: kill, host: primary, start: 1s, for: 2s}]}
`

func TestASuiteIsTheSameOnAnotherMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "take.lua"), []byte("return 1\n-- text: '#'"), 0o644))
	file := filepath.Join(dir, "mine.yaml")
	require.NoError(t, os.WriteFile(file, []byte(everyKindOfRun), 0o644))
	for _, name := range append(builtInNames(), file) {
		s, err := Read(name)
		require.NoError(t, err)
		text, err := s.Encode()
		require.NoError(t, err)
		again, err := Decode(text)
		require.NoError(t, err, "%s", text)
		was, err := s.fingerprint()
		require.NoError(t, err)
		is, err := again.fingerprint()
		require.NoError(t, err)
		require.Equal(t, was, is, "%s", text)
		require.Equal(t, []any{s.Name, s.About, s.titles(), s.Repetitions()}, []any{again.Name, again.About, again.titles(), again.Repetitions()})
	}
}

func TestASuiteFromElsewhereOpensNoFile(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"file: /etc/passwd", "source: return 1, releaseFile: /etc/passwd"} {
		_, err := Decode([]byte("name: x\nruns: [{script: {as: lock, " + field + "}}]\n"))
		require.ErrorIs(t, err, plan.ErrUsage)
		require.ErrorContains(t, err, "it names a file")
	}
	_, err := Decode([]byte("name: x\nruns: [{variant: lock/setnx, unheardOf: 1}]\n"))
	require.ErrorIs(t, err, plan.ErrUsage)
}

func TestWhichRunsAreCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[{variant: lock/setnx}, {name: s, script: {as: lock, source: return 1}}]":           "",
		"[{variant: lock/setnx}, {name: c, client: {command: [rm]}}]":                        "c",
		"[{variant: lock/setnx, name: i, on: docker, image: theirs}, {variant: lock/setnx}]": "i",
	} {
		s, err := Decode([]byte("name: x\nruns: " + text + "\n"))
		require.NoError(t, err)
		require.Equal(t, want, s.RunsCode())
	}
}

func TestAShardThatDidNotRunOrIsDoubtedMakesTheSuiteUnknown(t *testing.T) {
	t.Parallel()
	s, err := Decode([]byte("name: mine\nruns: [{variant: sequence/incr, name: one, times: 2}]\n"))
	require.NoError(t, err)
	for _, why := range []string{"given up", "two results contradict each other"} {
		root := t.TempDir()
		for n := range 2 {
			shard, err := s.Shard(tally.Shard{Number: n + 1, Of: 2})
			require.NoError(t, err)
			dir := filepath.Join(root, shard.part.String()[:1])
			if n == 0 && why == "given up" {
				require.NoError(t, shard.WriteUnrun(dir, "v1", why))
				_, err = shard.CheckReturned(dir, "v1")
				require.NoError(t, err)
				continue
			}
			head, err := shard.head(Options{Version: "v1"})
			require.NoError(t, err)
			m := shardMade{head: head, end: &recordEnd{At: 1, Ending: tally.Met}}
			m.add("one", 1, n)
			m.write(t, root, filepath.Base(dir))
			runs, err := shard.CheckReturned(dir, "v1")
			require.NoError(t, err)
			require.Len(t, runs, 1)
			_, err = shard.CheckReturned(dir, "v2")
			require.ErrorContains(t, err, "it was run by v1, not by v2")
			claim, err := Claim(dir)
			require.NoError(t, err)
			require.Contains(t, claim, "one, repetition")
			if n == 0 {
				require.NoError(t, Doubt(dir, why))
				claim, err = Claim(dir)
				require.NoError(t, err)
				require.Empty(t, claim)
			}
		}
		out, _, err := Merge(t.Context(), []string{root}, filepath.Join(t.TempDir(), "results"))
		require.NoError(t, err)
		require.Equal(t, "shard 1/2: "+why, out.Ended)
		require.Contains(t, []tally.Ending{tally.NotRun, tally.Unsaid}, out.Ending())
	}
}
