package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/suite"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// suiteView shows the progress of a suite on standard error: a line when a run begins, one when it ends, and the bar.
type suiteView struct {
	*app
	suite suite.Suite
	shard string          // shard, such as "3/8"; empty: the whole suite
	each  []time.Duration // estimated lengths of the suite's runs
	pass  time.Duration   // estimated length of a pass through the suite

	run     *progress // progress of the current run
	begun   bool      // whether any run has begun
	takeBar func()    // removes the bar
}

func (a *app) newSuiteView(s suite.Suite, shard string) *suiteView {
	v := &suiteView{app: a, suite: s, shard: shard, run: a.newProgress(), takeBar: func() {}}
	v.each, v.pass = s.Estimate()
	return v
}

func (v *suiteView) show(p harness.Progress) { v.run.show(p) }

// begin shows that a run begins. Before the first run it prints the estimated length of the suite.
func (v *suiteView) begin(at suite.Position) {
	one := v.each[at.Run-1]
	if !v.begun {
		v.begun = true
		fmt.Fprintln(v.err, lengthOfSuite(v.suite, v.shard, v.pass, at))
		remaining := max(v.pass, at.For) - at.Elapsed
		v.takeBar = v.startBar(max(remaining, one), "about")
		if at.For > 0 { // a soak is one stage
			v.err.beginStage(remaining)
		}
	}
	pass := ""
	if at.For > 0 {
		pass = fmt.Sprintf("pass %d, %v of %v, ", at.Pass, at.Elapsed.Round(time.Second), at.For)
	}
	fmt.Fprintf(v.err, "[%s%d/%d] %s\n", pass, at.Run, at.Of, at.Name)
	v.run = v.newProgress()
	if at.For == 0 {
		v.err.beginStage(one)
	}
}

// end shows the result of a run.
func (v *suiteView) end(_ suite.Position, r tally.Run) {
	fmt.Fprintf(v.err, "      %s\n", suiteLine(r))
}

// stop removes the bar. It may be called twice.
func (v *suiteView) stop() { v.takeBar() }

// lengthOfSuite describes how long a suite or a shard takes. pass is the estimated length of one pass through it.
func lengthOfSuite(s suite.Suite, shard string, pass time.Duration, at suite.Position) string {
	words := units.Plural(int64(len(s.Runs)), "run", "runs") + ", about " + pass.Round(time.Second).String()
	if shard != "" {
		words = "shard " + shard + ": " + words
	}
	if at.For > 0 {
		words = fmt.Sprintf("%s a pass, repeated for %v", words, at.For)
	}
	if at.Before > 0 {
		words += fmt.Sprintf("; continuing after %s and %v", units.Plural(int64(at.Before), "run", "runs"),
			at.Elapsed.Round(time.Second))
	}
	return words
}

// suiteLine summarizes the result of a run.
func suiteLine(r tally.Run) string {
	what := fmt.Sprintf("%s: %s %s", r.Ending, r.Verdict, r.Found)
	switch {
	case r.Ending == tally.NotRun && r.Found != "":
		what = fmt.Sprintf("interrupted: had found %s", r.Found)
	case r.Ending == tally.NotRun:
		what = "interrupted"
	case r.Ending != tally.Met && r.Found == "":
		what = fmt.Sprintf("%s: %s", r.Ending, cmp.Or(strings.TrimSuffix(r.Why, "."), "interrupted"))
	}
	line := fmt.Sprintf("%s, expected %s, %v", strings.TrimSpace(what), r.Expected,
		r.Elapsed.Round(100*time.Millisecond))
	if r.Seed == 0 { // a search has no seed
		return line
	}
	return fmt.Sprintf("%s, seed %d", line, r.Seed)
}
