package reports

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness/units"
)

// Sample is what the harness's process held at one time. Zero values were not measured.
type Sample struct {
	At         time.Duration `json:"at"`  // since the start of the suite
	RSS        int64         `json:"rss"` // resident memory, bytes
	Goroutines int           `json:"goroutines"`
	Files      int           `json:"files"` // open
}

// Memory follows the memory of the harness over a suite, in room that does not grow. The zero value has seen nothing.
type Memory struct {
	Runs   Curve         `json:"runs"`   // measured after each run, when its clients are gone
	Load   Curve         `json:"load"`   // measured while clients load the system
	WarmUp time.Duration `json:"warmUp"` // when the harness had as much memory as it needs: WarmUp, or if that is sooner the end of the first pass
	Max    int64         `json:"max"`    // bytes, at any time
}

// Curve is a series of samples, thinned out evenly when there are many.
type Curve struct {
	All []Sample `json:"all"`

	every, seen int // one sample of so many is kept
}

// WarmUp is after how long a program has as much memory as it will need.
const WarmUp = 5 * time.Minute

// maxSamples is how many points a curve of memory has at most.
const maxSamples = 480

// AfterRun takes a sample after a run of a pass.
func (m *Memory) AfterRun(pass int, s Sample) {
	if pass == 1 {
		m.WarmUp = min(WarmUp, s.At)
	}
	m.Max = max(m.Max, s.RSS)
	m.Runs.add(s)
}

// UnderLoad takes a sample during a run.
func (m *Memory) UnderLoad(s Sample) {
	m.Max = max(m.Max, s.RSS)
	m.Load.add(s)
}

// add keeps a sample. When that has grown too long every second one is left out, now and from here on.
func (c *Curve) add(s Sample) {
	c.every = max(1, c.every)
	if c.seen++; c.seen%c.every != 0 {
		return
	}
	if c.All = append(c.All, s); len(c.All) < maxSamples {
		return
	}
	for i := range maxSamples / 2 {
		c.All[i] = c.All[2*i+1]
	}
	c.All, c.every = c.All[:maxSamples/2], 2*c.every
}

// Growth compares resident memory at the beginning and at the end of what follows the warm-up: the medians of the first and
// of the last quarter of the samples, in bytes. Single samples say little: they depend on when the collector ran last. ok is
// false if there are fewer than eight samples.
func (c Curve) Growth(warmUp time.Duration) (from, to int64, ok bool) {
	var after []int64
	for _, s := range c.All {
		if s.At > warmUp && s.RSS > 0 {
			after = append(after, s.RSS)
		}
	}
	quarter := len(after) / 4
	if quarter < 2 {
		return 0, 0, false
	}
	return median(after[:quarter]), median(after[len(after)-quarter:]), true
}

func median(values []int64) int64 {
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2]
}

// grown says in words how memory grew after the warm-up.
func (c Curve) grown(warmUp time.Duration) string {
	from, to, ok := c.Growth(warmUp)
	if !ok {
		return "too short a time to tell how it grows"
	}
	return fmt.Sprintf("%s after the warm-up, %s at the end (%+.0f %%)", size(from), size(to), 100*(float64(to)/float64(from)-1))
}

// facts are the lines about the harness itself, for people.
func (m Memory) facts() []fact {
	if m.Max == 0 || len(m.Runs.All) == 0 {
		return nil
	}
	left := func(s Sample) string {
		return fmt.Sprintf("%s, %s and %s", size(s.RSS), units.Plural(int64(s.Goroutines), "goroutine", "goroutines"),
			units.Plural(int64(s.Files), "open file", "open files"))
	}
	first, last := m.Runs.All[0], m.Runs.All[len(m.Runs.All)-1]
	all := []fact{
		{"left by a run", left(first) + " after " + units.Duration(first.At.Round(time.Second)) + "; " + left(last) + " after " + units.Duration(last.At.Round(time.Second))},
		{"memory at most", size(m.Max)},
	}
	if m.soaked() {
		all = append(all, fact{"memory under load", m.Load.grown(m.WarmUp)}, fact{"memory between runs", m.Runs.grown(m.WarmUp)},
			fact{"warm-up", units.Duration(m.WarmUp.Round(time.Second)) + "; medians of the first and last quarter of the time after it"})
	}
	return all
}

// soaked reports whether there is anything to say about growth.
func (m Memory) soaked() bool {
	_, _, runs := m.Runs.Growth(m.WarmUp)
	_, _, load := m.Load.Growth(m.WarmUp)
	return runs || load
}

// drawing draws resident memory over time, under load and between runs; nil if there are too few samples.
func (m Memory) drawing(elapsed time.Duration) *drawing {
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
