package reports

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness/suite/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// grown says in words how memory grew after the warm-up.
func grown(c tally.Curve, warmUp time.Duration) string {
	from, to, ok := c.Growth(warmUp)
	if !ok {
		return "too short a time to tell how it grows"
	}
	return fmt.Sprintf("%s after the warm-up, %s at the end (%+.0f %%)", size(from), size(to), 100*(float64(to)/float64(from)-1))
}

// memoryFacts are the lines about the harness itself, for people.
func memoryFacts(m tally.Memory) []fact {
	if m.Max == 0 || len(m.Runs.All) == 0 {
		return nil
	}
	left := func(s tally.Sample) string {
		return fmt.Sprintf("%s, %s and %s", size(s.RSS), units.Plural(int64(s.Goroutines), "goroutine", "goroutines"),
			units.Plural(int64(s.Files), "open file", "open files"))
	}
	first, last := m.Runs.All[0], m.Runs.All[len(m.Runs.All)-1]
	all := []fact{
		{"left by a run", left(first) + " after " + units.Duration(first.At.Round(time.Second)) + "; " + left(last) + " after " + units.Duration(last.At.Round(time.Second))},
		{"memory at most", size(m.Max)},
	}
	if m.Soaked() {
		all = append(all, fact{"memory under load", grown(m.Load, m.WarmUp)}, fact{"memory between runs", grown(m.Runs, m.WarmUp)},
			fact{"warm-up", units.Duration(m.WarmUp.Round(time.Second)) + "; medians of the first and last quarter of the time after it"})
	}
	return all
}

// drawMemory draws resident memory over time, under load and between runs; nil if there are too few samples.
func drawMemory(m tally.Memory, elapsed time.Duration) *drawing {
	const enough = 10
	if len(m.Load.All) < enough {
		return nil
	}
	f := newFrame("resident memory of the harness in MiB", 0, max(elapsed, m.Load.All[len(m.Load.All)-1].At), 140, nil)
	f.timeAxis("")
	y := f.linear(f.top, f.bottom, mib(m.Max), 4)
	path := ""
	for i, s := range m.Load.All {
		path += map[bool]string{true: "M", false: "L"}[i == 0] + corner(10*f.x(s.At), y(mib(s.RSS)))
	}
	f.path("curve p50", path)
	for _, s := range m.Runs.All {
		f.dot("between", f.x(s.At), y(mib(s.RSS)), units.Duration(s.At)+": "+size(s.RSS))
	}
	return &f.drawing
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// size writes bytes in the unit that suits them.
func size(bytes int64) string {
	if bytes >= 10<<30 {
		return units.Digits(float64(bytes)/(1<<30)) + " GiB"
	}
	return units.Whole(mib(bytes)) + " MiB"
}
