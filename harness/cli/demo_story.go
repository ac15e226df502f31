package cli

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/harness/units"
)

// story is what the tour has shown, on one screen of 80 columns and 50 lines: pairs of a naive and a right algorithm,
// number generators, and failovers.
type story struct{ pairs, numbers, failovers []scene }

func (s story) String() string {
	var b strings.Builder
	s.whiteboard(&b)
	b.WriteString("\nNAIVE (-) AND RIGHT (+)               shown by, and how soon\n")
	for _, p := range s.pairs {
		b.WriteString(p.line())
	}
	b.WriteString("\nTHE NEXT NUMBER                       drawn twice, and how soon\n")
	for _, n := range s.numbers {
		b.WriteString(n.line())
	}
	s.comparisons(&b)
	s.waterfall(&b)
	b.WriteString("\nYOUR OWN LOCK, after doublegrant init go, python or lua\n" +
		"  Go      go mod tidy && go test\n" +
		"  Python  doublegrant explore -- python3 lock.py\n" +
		"  Lua     doublegrant explore --script take.lua --as lock --release give.lua\n")
	return b.String()
}

const storyWidth = 80

// wrap writes a row of cells side by side within storyWidth columns. A cell that is too long goes on below, in the same
// column.
func wrap(cells ...string) string {
	var b strings.Builder
	var t texttable.Table
	t.Add(cells...)
	_ = t.Write(&b, storyWidth) // a strings.Builder never fails
	return strings.TrimRight(b.String(), "\n")
}

// example returns the counterexample that the tour shows for a search: the first one of the class s.Tells, or else the
// smallest. The search must have found one.
func (s scene) example() interleave.Counterexample {
	all := s.searched.Result.Counterexamples
	return all[max(0, slices.IndexFunc(all, func(c interleave.Counterexample) bool { return c.Anomaly.Class == s.Tells }))]
}

// whiteboard writes the counterexample of the first search step by step.
func (s story) whiteboard(b *strings.Builder) {
	search := s.pairs[0].searched
	if len(search.Result.Counterexamples) == 0 {
		return // the last line of the tour says so
	}
	example := s.pairs[0].example()
	fmt.Fprintf(b, "A LOCK THAT TWO OWN: %s\n", s.pairs[0].Title)
	for line := range strings.Lines(example.Text()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	note, _, _ := strings.Cut(example.Anomaly.Note, ";")
	b.WriteString(wrap("  =>", fmt.Sprintf("%s: one of %s orders, found after %s", note,
		units.Count(int64(search.Result.Schedules)), units.Took(search.Result.First))) + "\n")
}

// line returns the scene's line of the story, in 80 columns: a mark for naive (-) or right (+), the title and the
// result.
func (s scene) line() string {
	mark := "-"
	if s.Right {
		mark = "+"
	}
	return fmt.Sprintf("  %s %-32s  %s\n", mark, s.Title, s.brief())
}

// brief says what the scene found, and how soon. For a search it gives the number of steps, for a run the numbers of
// violations and operations.
func (s scene) brief() string {
	verdict := s.ran.Judged.Verdict
	if s.searched != nil {
		verdict = s.searched.Verdict()
	}
	switch {
	case verdict == harness.Unknown:
		return "nothing can be said"
	case s.searched == nil:
		return s.often()
	case verdict == harness.Valid:
		return fmt.Sprintf("none of %s orders breaks it", units.Count(int64(s.searched.Result.Schedules)))
	}
	c := s.example()
	return fmt.Sprintf("%s in %d steps, %s", c.Anomaly.Class, c.Length(), units.Took(s.searched.Result.First))
}

// often returns the number of violations of a run's most frequent class, the number of operations, and when the first
// violation was found.
func (s scene) often() string {
	violations := 0 // of the most frequent class: one operation can be two
	for _, n := range s.ran.Judged.Totals {
		violations = max(violations, n)
	}
	says := fmt.Sprintf("%s in %s operations", units.Count(int64(violations)), units.Count(s.ran.Stats.Totals.All()))
	if violations > 0 {
		says += ", " + units.Took(s.first)
	}
	return says
}

// articleNumber has 17 digits, which a double cannot hold. It comes from the article that has the tour's script.
const articleNumber = 16081817202494579

// comparisons explains two wrong ways to compare numbers, as text and as doubles, with an example of each. After each
// example follows the first violation of its run.
func (s story) comparisons(b *strings.Builder) {
	b.WriteString("  as text \"100\" < \"23\", so the 23 that callers propose replaces the 100 drawn\n")
	b.WriteString(wrap("  =>", s.numbers[0].row.First) + "\n")
	fmt.Fprintf(b, "  in Lua %d is a double, stored as ...%03.0f\n", int64(articleNumber),
		math.Mod(float64(articleNumber), 1000))
	b.WriteString(wrap("  =>", s.numbers[1].row.First) + "\n")
}

// stages lists the stages of a failover that the waterfall shows, each in a row of its own.
var stages = []struct {
	is   analysis.Milestone
	says string
}{
	{analysis.Suspect, "one Sentinel misses it"},
	{analysis.Agreed, "enough of them do"},
	{analysis.Elected, "one is elected"},
	{analysis.Promoted, "a replica is promoted"},
	{analysis.Writable, "first write"},
	{analysis.Rejoined, "the old one follows"},
}

const waterfallBar = 18 // width of the longest bar, in columns

// waterfall writes the stages of each failover, the failovers side by side, and what each failover cost.
func (s story) waterfall(b *strings.Builder) {
	head := fmt.Sprintf("%-24s", "A REPLICA TAKES OVER")
	var all []analysis.Failover
	var costs []string
	for _, f := range s.failovers {
		if len(f.ran.Failovers) == 0 {
			continue // the last line of the tour says so
		}
		first := f.ran.Failovers[0]
		all, costs = append(all, first), append(costs, f.Title+": "+costOf(first, f))
		head += fmt.Sprintf("  %-26s", f.Title)
	}
	b.WriteString("\n" + strings.TrimRight(head, " ") + "\n")
	for i, stage := range stages {
		line := fmt.Sprintf("  %-22s", stage.says)
		for _, f := range all {
			line += "  " + bar(f, i)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for _, c := range costs {
		b.WriteString(wrap("  =>", c) + "\n")
	}
}

// bar draws stage i in 26 columns: when the stage ended, and a bar from the end of the previous stage to that moment.
// The longest bar ends at the first write. A stage that ended later is drawn as ">>".
func bar(f analysis.Failover, i int) string {
	at := f.Stage(stages[i].is)
	if !at.Seen {
		return fmt.Sprintf("%-26s", "     -")
	}
	scale, before := max(f.Stage(analysis.Writable).After, 1), time.Duration(0)
	for _, earlier := range stages[:i] {
		if s := f.Stage(earlier.is); s.Seen {
			before = max(before, s.After)
		}
	}
	column := func(d time.Duration) int { return int(min(d, scale) * waterfallBar / scale) }
	from := min(column(before), waterfallBar-1)
	drawn := strings.Repeat(" ", from) + strings.Repeat("#", max(1, column(at.After)-from))
	if at.After > scale {
		drawn = strings.Repeat(" ", waterfallBar-2) + ">>"
	}
	return fmt.Sprintf("%5.2f s %-*s", at.After.Seconds(), waterfallBar, drawn)
}

// costOf says what the failover cost: how long two primaries took writes, how long nobody was answered, what was lost.
func costOf(f analysis.Failover, s scene) string {
	var all []string
	if f.Servers.BothWritable > 0 {
		all = append(all, "two primaries for "+units.Duration(f.Servers.BothWritable))
	}
	if f.Outage.Seen {
		all = append(all, "no answer for "+f.Outage.String())
	}
	for _, c := range slices.Sorted(maps.Keys(s.ran.Judged.Totals)) {
		all = append(all, units.Count(int64(s.ran.Judged.Totals[c]))+" "+string(c))
	}
	return strings.Join(all, ", ")
}
