package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/tally"
)

// mixed has runs of many lengths, repetitions, searches, and random faults of different lengths.
const mixed = `
defaults: {clients: 20}
runs:
  - {name: short, variant: sequence/incr, duration: 2s, times: 7}
  - {name: long, variant: lock/set-nx-px, duration: 40s}
  - {name: searched, variant: lock/setnx, explore: {}, times: 3}
  - {name: under a fault, variant: lock/set-nx-px, nemesis: kill-primary, times: 2, seed: 9}
  - {name: searched in every regime, variant: sequence/string-compare-hash, explore: {}}
  - name: drawn
    variant: lock/set-nx-px
    faults: [{random: [crash-clients, freeze-clients], times: 9}]   # of 2 s, and of 5
  - {name: last, variant: dedup/get-set, duration: 10s, times: 2}
`

// shardsOf splits the suite, and lists the repetitions of each shard as "run/turn".
func shardsOf(t *testing.T, s Suite, of int) (parts []Suite, runs [][]string) {
	t.Helper()
	for n := 1; n <= of; n++ {
		part, err := s.Shard(tally.Shard{Number: n, Of: of})
		require.NoError(t, err)
		var all []string
		for _, r := range part.Runs {
			for _, turn := range r.repetitions() {
				all = append(all, fmt.Sprintf("%s/%d", r.Title, turn))
			}
		}
		parts, runs = append(parts, part), append(runs, all)
	}
	return parts, runs
}

func TestEveryRepetitionIsInOneShard(t *testing.T) {
	t.Parallel()
	s, err := suiteOf(t, mixed)
	require.NoError(t, err)
	_, whole := shardsOf(t, s, 1)
	require.Len(t, whole[0], 17)
	for of := 1; of <= 17; of++ {
		_, runs := shardsOf(t, s, of)
		_, again := shardsOf(t, s, of)
		require.Equal(t, runs, again, "another machine deals the same out")
		all := slices.Concat(runs...)
		require.ElementsMatch(t, whole[0], all, "%d shards", of)
		for n, mine := range runs {
			require.NotEmpty(t, mine, "shard %d of %d", n+1, of)
		}
	}
}

func TestShardsEndAtAboutTheSameTime(t *testing.T) {
	t.Parallel()
	s, err := suiteOf(t, mixed)
	require.NoError(t, err)
	each, whole := s.Estimate()
	for range 20 {
		_, again := s.Estimate()
		require.Equal(t, whole, again, "whatever is drawn by chance")
	}
	for of := 2; of <= 6; of++ {
		parts, _ := shardsOf(t, s, of)
		var sum, longest time.Duration
		for _, p := range parts {
			_, takes := p.Estimate()
			sum, longest = sum+takes, max(longest, takes)
		}
		require.Equal(t, whole, sum)
		best := max(whole/time.Duration(of), slices.Max(each)) // no assignment splits a run
		require.LessOrEqual(t, longest, best*4/3, "%d shards", of)
	}
	units := []unit{{takes: 5}, {takes: 4}, {takes: 3}, {takes: 3}, {takes: 3}}
	require.Equal(t, []int{1, 2, 2, 1, 2}, assignShards(units, 2),
		"8 and 10, where file order would make 9 and 9 or worse")
	require.Equal(t, []int{1, 2, 3, 1, 2}, assignShards(make([]unit, 5), 3),
		"runs of no length are dealt out by number")
}

// TestAShardKeepsWhatARunIs checks that runs in shards keep seeds, order, and the whole suite's fingerprint.
func TestAShardKeepsWhatARunIs(t *testing.T) {
	t.Parallel()
	s, err := suiteOf(t, mixed)
	require.NoError(t, err)
	whole, err := s.head(Options{Version: "v1"})
	require.NoError(t, err)
	require.Nil(t, whole.Shard)
	parts, _ := shardsOf(t, s, 3)
	for i, p := range parts {
		require.True(t, slices.IsSortedFunc(p.Runs, func(a, b Entry) int {
			at := func(e Entry) int {
				return slices.IndexFunc(s.Runs, func(o Entry) bool { return o.Title == e.Title })
			}
			return at(a) - at(b)
		}), "in the file's order")
		head, err := p.head(Options{Version: "v1"})
		require.NoError(t, err)
		require.Equal(t, whole.Fingerprint, head.Fingerprint)
		require.Equal(t, tally.Shard{Number: i + 1, Of: 3}, head.Shard.Shard)
		require.Len(t, head.Shard.Whole, len(s.Runs))
		require.Equal(t, recordWhole{"short", 7}, head.Shard.Whole[0])
		require.NoError(t, head.checkShard())
		require.Equal(t, fmt.Sprintf("suite-suite-shard-%d-of-3", i+1), p.folderName())
	}
}

func TestAShardThatThereIsNot(t *testing.T) {
	t.Parallel()
	s, err := suiteOf(t, mixed)
	require.NoError(t, err)
	for want, of := range map[string]tally.Shard{
		"the suite has 17 runs including repetitions: split it into at most 17 shards": {Number: 1, Of: 18},
		"choose a shard from 1/3 to 3/3":                                               {Number: 4, Of: 3},
		"--shard 0/3":                                                                  {Number: 0, Of: 3},
	} {
		_, err := s.Shard(of)
		require.ErrorIs(t, err, plan.ErrUsage)
		require.ErrorContains(t, err, want)
	}
}

func TestShardsAreNamedByFlagOrByCI(t *testing.T) {
	t.Parallel()
	third := tally.Shard{Number: 3, Of: 8}
	for _, c := range []struct {
		flag string
		env  []string
		want tally.Shard
	}{
		{"3/8", nil, third},
		{"1/1", nil, tally.Shard{Number: 1, Of: 1}},
		{"3/8", []string{"CI_NODE_INDEX=5", "CI_NODE_TOTAL=9"}, third}, // the flag wins
		{"auto", []string{"CI_NODE_INDEX=3", "CI_NODE_TOTAL=8"}, third},
		{"auto", []string{"CI_NODE_TOTAL=1"}, tally.Shard{Number: 1, Of: 1}},
		{"auto", []string{"CIRCLE_NODE_INDEX=2", "CIRCLE_NODE_TOTAL=8"}, third},
		{"auto", []string{"BUILDKITE_PARALLEL_JOB=2", "BUILDKITE_PARALLEL_JOB_COUNT=8"}, third},
		{"auto/8", []string{"BUILDKITE_PARALLEL_JOB=2", "BUILDKITE_PARALLEL_JOB_COUNT=8"}, third},
		{"auto/8", []string{"JOB_COMPLETION_INDEX=2"}, third},
		{"auto/8", []string{"JOB_COMPLETION_INDEX=7"}, tally.Shard{Number: 8, Of: 8}},
		{"auto/8", []string{"JOB_COMPLETION_INDEX=0"}, tally.Shard{Number: 1, Of: 8}},
		{"auto", []string{"CI_NODE_INDEX=3", "CI_NODE_TOTAL=8", "CIRCLE_NODE_INDEX=2", "CIRCLE_NODE_TOTAL=8"}, third},
	} {
		got, err := ParseShard(c.flag, envOf(c.env))
		require.NoError(t, err, c)
		require.Equal(t, c.want, got, c)
	}
}

// canary is a value that no message may show.
const canary = "sup3r-secret-canary"

func TestAShardThatCannotBeIsOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flag, env, want string }{
		{"", "", `--shard "": give the shard's number and the number of shards, such as 3/8`},
		{"3", "", `--shard "3": give the shard's number and the number of shards`},
		{"3/eight", "", `--shard "3/eight": give`},
		{"3/8/9", "", `--shard "3/8/9": give`},
		{"-3/8", "", `--shard "-3/8": give`},
		{"+3/8", "", `--shard "+3/8": give`},
		{"3/ 8", "", `--shard "3/ 8": give`},
		{"1/99999999999999999999", "", "give the shard's number and the number of shards"},
		{"3/0", "", `--shard "3/0": split the suite into 1 shard or more`},
		{"0/8", "", `--shard "0/8": shards count from 1: choose one from 1/8 to 8/8`},
		{"9/8", "", `--shard "9/8": shards count from 1: choose one from 1/8 to 8/8`},
		{"auto/", "", `--shard "auto/": give`},
		{"/8", "", `--shard "/8": give`},
		{"auto/0", "", `--shard "auto/0": split the suite into 1 shard or more`},
		{"auto", "", "--shard auto: no variable of a known CI system is set (CI_NODE_INDEX, " +
			"CIRCLE_NODE_INDEX, BUILDKITE_PARALLEL_JOB, JOB_COMPLETION_INDEX): give the shard"},
		{"auto", "CI_NODE_INDEX=0 CI_NODE_TOTAL=8", "CI_NODE_INDEX is 0, and GitLab counts 8 jobs from 1 to 8"},
		{"auto", "CIRCLE_NODE_INDEX=8 CIRCLE_NODE_TOTAL=8",
			"CIRCLE_NODE_INDEX is 8, and CircleCI counts 8 jobs from 0 to 7"},
		{"auto", "BUILDKITE_PARALLEL_JOB=8 BUILDKITE_PARALLEL_JOB_COUNT=8",
			"BUILDKITE_PARALLEL_JOB is 8, and Buildkite counts 8 jobs from 0 to 7"},
		{"auto/8", "JOB_COMPLETION_INDEX=8", "JOB_COMPLETION_INDEX is 8, and Kubernetes counts 8 jobs from 0 to 7"},
		{"auto", "JOB_COMPLETION_INDEX=2", "JOB_COMPLETION_INDEX gives the number of this shard, but no variable " +
			"gives the number of shards: give --shard auto/8 for 8"},
		{"auto", "CI_NODE_TOTAL=8", "CI_NODE_TOTAL is set and CI_NODE_INDEX is not"},
		{"auto", "CI_NODE_INDEX=2 CI_NODE_TOTAL=0", "CI_NODE_TOTAL is not a number above 0"},
		{"auto/4", "CI_NODE_INDEX=2 CI_NODE_TOTAL=8", "CI_NODE_TOTAL is 8, but the flag asks for 4 shards"},
		{"auto/4", "CI_NODE_TOTAL=1", "CI_NODE_TOTAL is 1, but the flag asks for 4 shards"},
		{"auto", "CI_NODE_INDEX=" + canary + " CI_NODE_TOTAL=8", "CI_NODE_INDEX is not a whole number"},
		{"auto", "CI_NODE_INDEX=2 CI_NODE_TOTAL=" + canary, "CI_NODE_TOTAL is not a number"},
		{"auto", "CI_NODE_INDEX=2 CI_NODE_TOTAL=8 CIRCLE_NODE_INDEX=2 CIRCLE_NODE_TOTAL=8",
			"CI_NODE_INDEX means shard 2/8, and CIRCLE_NODE_INDEX means 3/8: give the right one, such as --shard 2/8"},
	} {
		_, err := ParseShard(c.flag, envOf(strings.Fields(c.env)))
		require.ErrorIs(t, err, plan.ErrUsage, c)
		require.ErrorContains(t, err, c.want, c)
		require.NotContains(t, err.Error(), "\n")
		require.NotContains(t, err.Error(), canary)
	}
}

// envOf returns an environment of variables, each NAME=value.
func envOf(variables []string) func(string) string {
	return func(name string) string {
		for _, v := range variables {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}
