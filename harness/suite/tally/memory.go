package tally

import (
	"slices"
	"time"
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

// Soaked reports whether there is anything to say about growth.
func (m Memory) Soaked() bool {
	_, _, runs := m.Runs.Growth(m.WarmUp)
	_, _, load := m.Load.Growth(m.WarmUp)
	return runs || load
}
