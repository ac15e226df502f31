package suite

import (
	"fmt"
	"maps"
	"slices"

	"github.com/doublegrant/doublegrant/harness/plan"
)

// checkFit returns an error that wraps plan.ErrUsage unless the shards are all those of one suite, each once, run by
// one program on one server. It names the first shard that does not fit. The shards are sorted by number, and there is
// at least one.
func checkFit(shards []shardRecord) error {
	for _, trait := range sharedTraits {
		first := shards[0]
		for _, s := range shards[1:] {
			if is, was := trait.of(s.head), trait.of(first.head); is != was {
				return plan.Usagef(trait.refusal, s, is, first, was)
			}
		}
	}
	if err := oneServer(shards); err != nil {
		return err
	}
	if err := checkComplete(shards); err != nil {
		return err
	}
	return checkCovered(shards)
}

// sharedTraits lists what all shards of a suite must have in common. refusal is a format for four values: a shard and
// its trait, the first shard and its trait.
var sharedTraits = []struct {
	of      func(recordHead) string
	refusal string
}{
	{func(h recordHead) string { return h.Name },
		"%v belongs to the suite %q, and %v to %q: merge the shards of one suite"},
	{func(h recordHead) string { return h.Fingerprint },
		"%v has a different suite (%s) from %v (%s): run all shards with the same file, scripts, expectations and " +
			"--only"},
	{func(h recordHead) string { return fmt.Sprint(h.Shard.Of) },
		"%v is one of %s, and %v one of %s: merge shards that were split the same way"},
	{func(h recordHead) string { return h.Version },
		"%v was run by %s, and %v by %s: run all shards with one version"},
	{func(h recordHead) string { return forWords(h.For) },
		"%v was run with %s, and %v with %s: run all shards with the same --for"},
}

// oneServer returns an error if two shards ran on different servers of one platform. A shard records only the servers
// of its own runs.
func oneServer(shards []shardRecord) error {
	seen := map[string]shardRecord{} // by platform
	for _, s := range shards {
		for _, platform := range slices.Sorted(maps.Keys(s.head.Servers)) {
			first, known := seen[platform]
			if !known {
				seen[platform] = s
				continue
			}
			if is, was := s.head.Servers[platform], first.head.Servers[platform]; is != was {
				return plan.Usagef("%v was run on %s, and %v on %s: run all shards on one version of the server", s, is,
					first, was)
			}
		}
	}
	return nil
}

// checkComplete returns an error if a shard is missing, or is there twice.
func checkComplete(shards []shardRecord) error {
	next := 1 // number of the next shard
	for i, s := range shards {
		if n := s.head.Shard.Number; n > next {
			return missingShards(shards)
		} else if n < next {
			return plan.Usagef("shard %v was given twice, in %s and %s: leave one of the two folders out",
				s.head.Shard, shards[i-1].dir, s.dir)
		}
		next++
	}
	if next <= shards[0].head.Shard.Of {
		return missingShards(shards)
	}
	return nil
}

// missingShards returns an error that names the missing shards.
func missingShards(shards []shardRecord) error {
	of := shards[0].head.Shard.Of
	var numbers []int
	for n := 1; n <= of; n++ {
		if !slices.ContainsFunc(shards, func(s shardRecord) bool { return s.head.Shard.Number == n }) {
			numbers = append(numbers, n)
		}
	}
	which := fmt.Sprintf("shard %d of %d is", numbers[0], of)
	if len(numbers) > 1 {
		which = fmt.Sprintf("%d of %d shards are missing, the first is shard %d, which is", len(numbers), of,
			numbers[0])
	}
	return plan.Usagef("%s missing: add its folder, or run it with doublegrant suite FILE --shard %d/%d", which,
		numbers[0], of)
}

// checkCovered returns an error unless each repetition of each run is in exactly one shard. That is so unless somebody
// changed a record.
func checkCovered(shards []shardRecord) error {
	whole := shards[0].head.Shard
	for _, run := range whole.Whole {
		var turns []int
		for _, s := range shards {
			for _, c := range s.head.Cases {
				if c.Name == run.Name {
					turns = append(turns, c.Turns...)
				}
			}
		}
		slices.Sort(turns)
		if len(turns) != run.Times || len(slices.Compact(turns)) != run.Times {
			return fmt.Errorf("suite: the shards do not contain exactly the %[2]d repetitions of %[1]q: a record "+
				"was changed", run.Name, run.Times)
		}
	}
	return nil
}
