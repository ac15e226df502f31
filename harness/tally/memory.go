package tally

import (
	"slices"
	"time"
)

// Sample holds what the harness's process used at one time. Zero values were not measured.
type Sample struct {
	At         time.Duration `json:"at"`  // since the start of the suite
	RSS        int64         `json:"rss"` // resident memory, bytes
	Goroutines int           `json:"goroutines"`
	Files      int           `json:"files"` // open
}

// Memory follows the memory of the harness over a suite, and takes no more room as the suite goes on. The zero value has no
// samples.
type Memory struct {
	Runs   Curve         `json:"runs"`   // measured after each run, when its clients are gone
	Load   Curve         `json:"load"`   // measured while clients load the system
	WarmUp time.Duration `json:"warmUp"` // until when memory may grow: WarmUp, or the end of the first pass if that is sooner
	Max    int64         `json:"max"`    // most resident memory in any sample, bytes

	from time.Duration // when the process began; 0: with the suite
}

// Curve is a series of samples, evenly thinned out when there are many.
type Curve struct {
	All []Sample `json:"all"`

	every, seen int // one in every samples is kept, of seen
}

// WarmUp is the time after which a program is taken to have all the memory that it needs.
const WarmUp = 5 * time.Minute

// maxSamples bounds the points of a curve.
const maxSamples = 480

// Restart forgets all samples but the largest, since another process goes on at the time at. Growth is that of one process.
func (m *Memory) Restart(at time.Duration) { *m = Memory{Max: m.Max, WarmUp: at + WarmUp, from: at} }

// AfterRun adds a sample that was taken after a run of the given pass, from 1.
func (m *Memory) AfterRun(pass int, s Sample) {
	if pass == 1 {
		m.WarmUp = m.from + min(WarmUp, s.At-m.from)
	}
	m.Max = max(m.Max, s.RSS)
	m.Runs.add(s)
}

// UnderLoad adds a sample that was taken during a run.
func (m *Memory) UnderLoad(s Sample) {
	m.Max = max(m.Max, s.RSS)
	m.Load.add(s)
}

// add keeps a sample. When there are too many, every second one is dropped, and from then on only half as many are kept.
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

// Growth compares resident memory at the beginning and at the end of the time after the warm-up. from and to are the medians of
// the first and of the last quarter of the samples, in bytes; single samples depend too much on when the garbage collector last
// ran. ok is false if there are fewer than eight samples.
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

// Soaked reports whether there are enough samples to tell growth.
func (m Memory) Soaked() bool {
	_, _, runs := m.Runs.Growth(m.WarmUp)
	_, _, load := m.Load.Growth(m.WarmUp)
	return runs || load
}
