package suite

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/doublegrant/doublegrant/harness/internal/fields"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/tally"
)

// ciSystem describes how a CI system numbers its parallel jobs.
type ciSystem struct {
	name  string
	index string // variable with the number of the job
	total string // variable with the number of jobs; empty: there is no such variable
	first int    // number of the first job
}

// ciSystems lists the CI systems whose variables --shard auto reads.
var ciSystems = []ciSystem{
	{"GitLab", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1},
	{"CircleCI", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0},
	{"Buildkite", "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0},
	{"Kubernetes", "JOB_COMPLETION_INDEX", "", 0},
}

// ParseShard reads the value of --shard: a number and a total such as "3/8", or "auto", which takes both from the
// variables of the CI system. "auto/8" is for a CI system with no variable for the total. env returns the value of a
// variable, like os.Getenv. Messages quote a variable's value only if it is a number. The error wraps plan.ErrUsage.
func ParseShard(text string, env func(string) string) (tally.Shard, error) {
	number, of, both := strings.Cut(text, "/")
	total, ok := wholeNumber(of)
	if both && ok && total == 0 {
		return tally.Shard{}, plan.Usagef("--shard %q: split the suite into 1 shard or more", fields.Shortened(text))
	}
	if number == auto && both == ok {
		return shardOfJob(total, env)
	}
	n, numbered := wholeNumber(number)
	if !ok || !numbered {
		return tally.Shard{}, plan.Usagef("--shard %q: give the shard's number and the number of shards, such as "+
			"3/8; in CI also auto or auto/8", fields.Shortened(text))
	}
	if n < 1 || n > total {
		return tally.Shard{}, plan.Usagef("--shard %q: shards count from 1: choose one from 1/%d to %d/%d", text, total,
			total, total)
	}
	return tally.Shard{Number: n, Of: total}, nil
}

const auto = "auto"

// wholeNumber reads a whole number of at most six digits, without a sign.
func wholeNumber(text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && len(text) <= 6 && text[0] != '+' && text[0] != '-'
}

// shardOfJob returns the shard of the CI job that runs this process. total is the number of shards that the user gave;
// 0: the user gave none, so a variable has to give it.
func shardOfJob(total int, env func(string) string) (shard tally.Shard, err error) {
	var from string // the variable that shard was read from
	for _, c := range ciSystems {
		if env(c.index) == "" && (c.total == "" || env(c.total) == "") {
			continue
		}
		one, err := c.shard(total, env)
		if err != nil {
			return shard, plan.Usagef("--shard auto: %w", err)
		}
		if from != "" && one != shard {
			return shard, plan.Usagef("--shard auto: %s means shard %v, and %s means %v: give the right one, such "+
				"as --shard %v", from, shard, c.index, one, shard)
		}
		shard, from = one, c.index
	}
	if from == "" {
		return shard, plan.Usagef("--shard auto: no variable of a known CI system is set (%s): give the shard, such "+
			"as 3/8", ciVariables())
	}
	return shard, nil
}

// shard reads the variables of the CI system. total is the user's number of shards; 0: the user gave none.
func (c ciSystem) shard(total int, env func(string) string) (s tally.Shard, err error) {
	if s.Of, err = c.count(total, env); err != nil {
		return s, err
	}
	index := env(c.index)
	if index == "" && s.Of == 1 { // GitLab sets only the total in a job that is not parallel
		return tally.Shard{Number: 1, Of: 1}, nil
	}
	number, ok := wholeNumber(index)
	switch {
	case index == "":
		return s, fmt.Errorf("%s is set and %s is not: give the shard, such as 3/8", c.total, c.index)
	case !ok:
		return s, fmt.Errorf("%s is not a whole number: give the shard, such as 3/8", c.index)
	case s.Of == 0:
		return s, fmt.Errorf("%s gives the number of this shard, but no variable gives the number of shards: give "+
			"--shard auto/8 for 8", c.index)
	case number < c.first || number >= c.first+s.Of:
		return s, fmt.Errorf("%s is %d, and %s counts %d jobs from %d to %d: give the shard, such as 3/8", c.index,
			number, c.name, s.Of, c.first, c.first+s.Of-1)
	}
	s.Number = number - c.first + 1
	return s, nil
}

// count returns the number of jobs: the user's total, or the value of the system's variable. If there are both, they
// must be equal. If there is neither, count returns 0.
func (c ciSystem) count(total int, env func(string) string) (int, error) {
	if c.total == "" || env(c.total) == "" {
		return total, nil
	}
	of, ok := wholeNumber(env(c.total))
	switch {
	case !ok || of == 0:
		return 0, fmt.Errorf("%s is not a number above 0: give the shard, such as 3/8", c.total)
	case total != 0 && of != total:
		return 0, fmt.Errorf("%s is %d, but the flag asks for %d shards: give --shard auto, or run as many jobs as "+
			"there are shards", c.total, of, total)
	}
	return of, nil
}

// ciVariables lists the variables of all CI systems.
func ciVariables() string {
	var all []string
	for _, c := range ciSystems {
		all = append(all, c.index)
	}
	return strings.Join(all, ", ")
}
