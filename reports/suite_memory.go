package reports

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// describeGrowth describes how memory grew after the warm-up.
func describeGrowth(c tally.Curve, warmUp time.Duration) string {
	from, to, ok := c.Growth(warmUp)
	if !ok {
		return "too short a time to tell how it grows"
	}
	return fmt.Sprintf("%s after the warm-up, %s at the end (%+.0f %%)", units.Size(from), units.Size(to),
		100*(float64(to)/float64(from)-1))
}

// memoryFacts returns the lines about the harness itself, for people.
func memoryFacts(m tally.Memory) []fact {
	if m.Max == 0 || len(m.Runs.All) == 0 {
		return nil
	}
	sampleText := func(s tally.Sample) string {
		return fmt.Sprintf("%s, %s and %s", units.Size(s.RSS),
			units.Plural(int64(s.Goroutines), "goroutine", "goroutines"),
			units.Plural(int64(s.Files), "open file", "open files"))
	}
	first, last := m.Runs.All[0], m.Runs.All[len(m.Runs.All)-1]
	all := []fact{
		{"left by a run", sampleText(first) + " after " + units.Duration(first.At.Round(time.Second)) + "; " +
			sampleText(last) +
			" after " + units.Duration(last.At.Round(time.Second))},
		{"memory at most", units.Size(m.Max)},
	}
	if m.Soaked() {
		all = append(all, fact{"memory under load", describeGrowth(m.Load, m.WarmUp)},
			fact{"memory between runs", describeGrowth(m.Runs, m.WarmUp)},
			fact{"warm-up", units.Duration(m.WarmUp.Round(time.Second)) +
				"; medians of the first and last quarter of the time after it"})
	}
	return all
}
