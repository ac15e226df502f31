package reports

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// WriteSuite writes index.html, suite.json, junit.xml and summary.md into dir, as Write does for a run.
func WriteSuite(dir string, s tally.Suite) error {
	return writeAll(dir, []Format[tally.Suite]{
		{SuiteFile, SuiteJSON}, {IndexFile, SuiteHTML}, {JUnitFile, SuiteJUnit}, {SummaryFile, SuiteSummary},
	}, s)
}

// SuiteDocument is the content of suite.json. All amounts of memory are in bytes.
type SuiteDocument struct {
	Head
	tally.Suite
}

// SuiteJSON writes suite.json.
func SuiteJSON(w io.Writer, s tally.Suite) error {
	s.Cases = slices.Clone(list(s.Cases))
	s.Memory.Load.All, s.Memory.Runs.All = list(s.Memory.Load.All), list(s.Memory.Runs.All)
	for i := range s.Cases {
		s.Cases[i].Failures, s.Cases[i].Failovers = list(s.Cases[i].Failures), s.Cases[i].SumUp()
	}
	return WriteJSON(w, SuiteDocument{HeadOf(KindSuite), s})
}

// SuiteSentence returns the suite's result in one sentence.
func SuiteSentence(s tally.Suite) string {
	t := s.Total()
	words := units.Count(int64(t.Met)) + " of " + units.Plural(int64(t.Runs), "run", "runs") + " ended as expected"
	var others []string
	for _, other := range []struct {
		n    int
		what string
	}{{t.NotMet, "not"}, {t.Unknown, "unknown"}, {t.Failed, "could not be carried out"}, {s.Missing(), "not run"}} {
		if other.n > 0 {
			others = append(others, units.Count(int64(other.n))+" "+other.what)
		}
	}
	if len(others) > 0 {
		words += ", " + units.And(others)
	}
	took := units.Duration(s.Elapsed.Round(time.Second))
	if len(s.Shards) > 0 {
		words += ", in " + units.Plural(int64(len(s.Shards)), "shard", "shards") + " of at most " + took
	} else {
		words += ", in " + took
	}
	if s.Resumed > 0 {
		words += "; it was interrupted and resumed " + units.Plural(int64(s.Resumed), "time", "times")
	}
	words += "."
	if s.Shard != nil {
		words += fmt.Sprintf(" This is shard %d of %d: doublegrant merge puts all together.",
			s.Shard.Number, s.Shard.Of)
	}
	return words
}

// shardHeads lists the heads of the table of shards, except that of the first column, which has the shard's number.
var shardHeads = []string{"began", "ended", ":runs", ":time", ":most memory"}

// shardCells returns the cells of a shard, in the columns of shardHeads.
func shardCells(r tally.ShardResult) []string {
	ended := "as it should"
	if r.Ended != "" {
		ended = "early" // the suite says why
	}
	if r.Resumed > 0 {
		ended += ", resumed " + units.Plural(int64(r.Resumed), "time", "times")
	}
	memory := dash
	if r.RSS > 0 {
		memory = units.Size(r.RSS)
	}
	began := r.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	return []string{began, ended, units.Count(int64(r.Runs)), units.Duration(r.Elapsed.Round(time.Second)), memory}
}

// shardFacts returns what all shards have in common, for people.
func shardFacts(s tally.Suite) (all []fact) {
	if len(s.Shards) == 0 {
		return nil
	}
	if s.Version != "" {
		all = append(all, fact{"all run by", s.Version})
	}
	for _, platform := range slices.Sorted(maps.Keys(s.Servers)) {
		all = append(all, fact{"all run on", s.Servers[platform]})
	}
	return all
}

// suiteWord says for a headline how the suite ended.
func suiteWord(s tally.Suite) string {
	if s.Ended != "" && s.Ending() == tally.NotRun {
		return "ended early"
	}
	return map[tally.Ending]string{
		tally.NotRun: "not run", tally.Met: "passed", tally.Undecided: "unknown", tally.Failed: "not carried out",
		tally.NotMet: "failed",
	}[s.Ending()]
}

// caseExpected returns what the case is expected to find, or a dash.
func caseExpected(c tally.Case) string { return orDash(c.Expected) }
